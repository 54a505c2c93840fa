#pragma once

#include <sys/types.h>

#include <string>
#include <utility>

#include "base/result.h"
#include "staging/sandbox/command_runner.h"
#include "staging/sandbox/helper/request.h"

namespace galley {

/// A helper that has reported and only has to let go of its namespaces: no process of the command
/// is left. The kernel takes its time over that, which the caller need not wait for.
///
/// Ownership: owns the child process; the destructor waits for it.
class EndingProcess {
 public:
  EndingProcess() = default;
  explicit EndingProcess(pid_t pid) : pid_(pid) {}
  EndingProcess(EndingProcess&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}
  EndingProcess& operator=(EndingProcess&& other) noexcept {
    std::swap(pid_, other.pid_);
    return *this;
  }
  ~EndingProcess() { wait(); }
  /// Returns when it and its mounts are gone.
  void wait();

 private:
  pid_t pid_ = -1;
};

/// What came back from one run of the helper.
struct HelperRun {
  HelperReport report;
  CapturedOutput standard_output;
  CapturedOutput standard_error;
  EndingProcess helper;
};

/// Starts the helper program for one request and stays with it until every process of the command
/// is dead, passing on output and a stop request.
///
/// Threads: may be called from any thread; uses no signal handlers.
/// Errors:  kRefused `sandbox.unavailable` when the helper cannot be started; kInternal
///          `sandbox.helper_died` when it ends without a report.
[[nodiscard]] Result<HelperRun> run_helper(const std::string& helper, const SandboxRequest& request,
                                           const Command& command);

}  // namespace galley
