#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "staging/overlay/overlay.h"
#include "staging/sandbox/sandbox.h"
#include "tests/support/temp_directory.h"

namespace galley {

/// The user that runs the engine in a test.
enum class User { kRoot, kNobody };
std::ostream& operator<<(std::ostream& out, User user);

/// Polls until it is so, at most for as long as a very busy machine may take.
template <class Fact>
bool comes_true(Fact fact) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!fact()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

/// Runs `body`, with its EXPECTs, as that user: in a child process that gave up root, or in this
/// process if we are that user already or cannot choose.
void as_user(User user, const std::function<void()>& body);

enum class Walls { kNamespaces, kCopy };

/// Skips the running test when this machine lacks those walls for that user, with the reason; fails
/// it where GALLEY_REQUIRE_SANDBOX=1 says that it has them.
void need_walls(User user, Walls walls = Walls::kNamespaces);

/// Tests that run commands behind all walls, as each user.
class SandboxTest : public testing::TestWithParam<User> {
 protected:
  void SetUp() override { need_walls(GetParam()); }
};

/// The helper program, in a place that every user can read.
const std::string& helper_program();

/// A workspace with a few files, its overlay and its sandbox. Everything is in temporary
/// directories of its own.
class World {
 public:
  explicit World(SandboxOptions options = {});

  /// Runs `sh -c script`; a failure to run is a test failure and an empty result.
  CommandResult sh(const std::string& script);
  /// Runs a Python program the same way.
  CommandResult python(const std::string& program);
  CommandResult run(Command command);
  Result<CommandResult> try_run(const Command& command) { return runner_->run(command, overlay_); }

  /// Defaults for sh() and python().
  Command& defaults() { return defaults_; }
  Overlay& overlay() { return overlay_; }
  [[nodiscard]] std::string root() const { return workspace_.path(); }
  [[nodiscard]] std::string home() const { return home_.path() + "/layers"; }
  CommandRunner& runner() { return *runner_; }
  void drop_runner() { runner_.reset(); }

  /// Writes a file into the workspace itself.
  void put_file(const std::string& path, const std::string& text, uint32_t mode = 0644);
  /// Paths of the change set with a letter each: `A` created, `M` changed, `D` deleted.
  std::vector<std::string> changes() const;
  /// The workspace's own files and what they hold, to show that it is untouched.
  std::string picture() const;

 private:
  TempDirectory workspace_;
  TempDirectory home_;
  SystemClock clock_;
  Overlay overlay_;
  std::unique_ptr<CommandRunner> runner_;
  Command defaults_;
};

/// Paths, kinds, modes and contents of a directory tree, one a line.
std::string picture_of(const std::string& directory);

/// How many processes on the machine have this word among their arguments.
int processes_with(const std::string& word);

}  // namespace galley
