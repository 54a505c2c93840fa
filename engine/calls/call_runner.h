#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>

#include <galley/tool.h>
#include "base/clock.h"
#include "base/rel_path.h"
#include "staging/sandbox/command_runner.h"

namespace galley {

/// The command as the options of a call bound it: its folder, environment, programs, time and stop.
/// Its programs stand as the caller names them in `Command::programs`: a guarded runner resolves
/// them and holds them against its own rules.
/// In a dry run its effects are dropped, and it has no network: what it did there would stay done.
[[nodiscard]] Command bounded_by_call(Command command, const CallOptions& options,
                                      const RelPath& cwd);

/// The runner that the tool of one call gets: holds each command to the call's options, its time
/// and its memory, and adds up what they took.
///
/// Ownership: borrows everything; lives as long as the call.
/// Threads:   as CommandRunner.
class CallRunner final : public CommandRunner {
 public:
  /// What the commands took so far.
  struct Usage {
    bool has_run = false;
    std::chrono::nanoseconds cpu{0};
    uint64_t peak_memory_bytes = 0;  ///< the most of any of them, with all of its processes
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
