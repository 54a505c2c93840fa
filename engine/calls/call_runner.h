#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>

#include <galley/tool.h>
#include "base/clock.h"
#include "base/rel_path.h"
#include "staging/sandbox/command_runner.h"

namespace galley {

/// Returns the command with the options of a call: working directory, environment, allowed
/// programs, time limit and stop token. The names in `Command::programs` stay unchanged: a guarded
/// runner resolves them and checks them against its own rules.
///
/// A dry run drops the effects of the command. The command then runs without the network, because
/// effects on other hosts could not be reverted.
[[nodiscard]] Command bounded_by_call(Command command, const CallOptions& options,
                                      const RelPath& cwd);

/// The runner for the tool of one call. It applies the options and the limits of time and memory of
/// the call to each command. It adds up the usage of all commands.
///
/// Ownership: borrows everything; lives as long as the call.
/// Threads:   as CommandRunner.
class CallRunner final : public CommandRunner {
 public:
  /// The resources that the commands used so far.
  struct Usage {
    bool has_run = false;
    std::chrono::nanoseconds cpu{0};
    uint64_t peak_memory_bytes = 0;  ///< the highest of any command, with all its processes
  };

  CallRunner(CommandRunner& runner, const CallOptions& options, RelPath cwd,
             uint64_t max_memory_bytes, const Deadline& deadline, const Clock& clock);

  Result<CommandResult> run(const Command& command, Overlay& overlay) override;
  [[nodiscard]] Usage usage() const;

 private:
  CommandRunner* runner_;
  const CallOptions* options_;
  RelPath cwd_;
  uint64_t max_memory_bytes_;
  Deadline deadline_;
  const Clock* clock_;
  mutable std::mutex mutex_;
  Usage usage_;  ///< guarded by mutex_
};

}  // namespace galley
