#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "staging/sandbox/command_runner.h"

namespace galley {

/// A runner for tests of all code above the seam. It logs each command and gets the result from a
/// function (which may stage effects); without a function the command exits with 0 and no output.
///
/// Threads: several may call `run` at once. `commands` is for the time when no command runs.
class FakeCommandRunner final : public CommandRunner {
 public:
  using Answer = std::function<Result<CommandResult>(const Command&, Overlay&)>;

  FakeCommandRunner() = default;
  explicit FakeCommandRunner(Answer answer) : answer_(std::move(answer)) {}

  Result<CommandResult> run(const Command& command, Overlay& overlay) override {
    {
      const std::lock_guard guard(*mutex_);
      commands_.push_back(command);
    }
    if (answer_) return answer_(command, overlay);
    CommandResult result;
    result.exit_code = 0;
    return result;
  }

  [[nodiscard]] const std::vector<Command>& commands() const { return commands_; }

 private:
  Answer answer_;
  std::unique_ptr<std::mutex> mutex_ = std::make_unique<std::mutex>();  ///< of `commands_`
  std::vector<Command> commands_;
};

}  // namespace galley
