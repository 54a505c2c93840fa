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

/// Polls until `fact` is true. Gives up after 60 seconds, which is enough on a very busy machine.
template <class Fact>
bool comes_true(Fact fact) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!fact()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

/// Runs `body`, with its EXPECTs, as that user. It uses a child process that gives up root, or this
/// process if it already is that user or cannot change users.
void as_user(User user, const std::function<void()>& body);

enum class Walls { kNamespaces, kCopy };

/// Skips the running test, with the reason, if this machine lacks those walls for that user. With
/// GALLEY_REQUIRE_SANDBOX=1 the test fails instead.
void need_walls(User user, Walls walls = Walls::kNamespaces);

/// Tests that run commands behind all walls, as each user.
class SandboxTest : public testing::TestWithParam<User> {
 protected:
  void SetUp() override { need_walls(GetParam()); }
};

/// Returns the helper program, in a place that every user can read.
const std::string& helper_program();

/// A workspace with a few files, its overlay and its sandbox. All its files are in its own
/// temporary directories.
class World {
 public:
  explicit World(SandboxOptions options = {});

  /// Runs `sh -c script`. If it cannot run, that is a test failure and the result is empty.
  CommandResult sh(const std::string& script);
  /// Runs a Python program in the same way.
  CommandResult python(const std::string& program);
  CommandResult run(Command command);
  Result<CommandResult> try_run(const Command& command) { return runner_->run(command, overlay_); }

  /// Returns the command that sh() and python() start from.
  Command& defaults() { return defaults_; }
  Overlay& overlay() { return overlay_; }
  [[nodiscard]] std::string root() const { return workspace_.path(); }
  [[nodiscard]] std::string home() const { return home_.path() + "/layers"; }
  CommandRunner& runner() { return *runner_; }
  void drop_runner() { runner_.reset(); }

  /// Writes a file directly into the workspace.
  void put_file(const std::string& path, const std::string& text, uint32_t mode = 0644);
  /// Returns the paths of the change set, each with a letter: `A` created, `M` changed, `D`
  /// deleted.
  std::vector<std::string> changes() const;
  /// Returns the workspace's own files with their contents, to show that a command did not change
  /// them.
  std::string picture() const;

 private:
  TempDirectory workspace_;
  TempDirectory home_;
  SystemClock clock_;
  Overlay overlay_;
  std::unique_ptr<CommandRunner> runner_;
  Command defaults_;
};

/// Returns the paths, kinds, modes and contents of a directory tree, one line each.
std::string picture_of(const std::string& directory);

/// Returns how many processes on the machine have this word in their command lines.
int processes_with(const std::string& word);

}  // namespace galley
