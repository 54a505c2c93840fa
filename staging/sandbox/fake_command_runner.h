#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "staging/sandbox/command_runner.h"

namespace galley {

/// A runner for tests of everything above the seam: logs each command, answers from a function
/// (which may stage effects), or exits with 0 and no output when there is none.
///
/// Threads: confined to one thread.
class FakeCommandRunner final : public CommandRunner {
 public:
  using Answer = std::function<Result<CommandResult>(const Command&, Overlay&)>;

  FakeCommandRunner() = default;
  explicit FakeCommandRunner(Answer answer) : answer_(std::move(answer)) {}

  Result<CommandResult> run(const Command& command, Overlay& overlay) override {
    commands_.push_back(command);
    if (answer_) return answer_(command, overlay);
    CommandResult result;
    result.exit_code = 0;
    return result;
  }

  [[nodiscard]] const std::vector<Command>& commands() const { return commands_; }

 private:
  Answer answer_;
  std::vector<Command> commands_;
};

}  // namespace galley
