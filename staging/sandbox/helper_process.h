#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>

#include "base/result.h"
#include "staging/sandbox/command_runner.h"
#include "staging/sandbox/helper/setup.h"

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
  /// Returns when it and its mounts are gone: its exit status, or nothing when it did not exit.
  std::optional<int> wait();
  [[nodiscard]] pid_t pid() const { return pid_; }

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

/// A helper program that has been started and waits for its one request.
///
/// Ownership: owns the child process; one that is dropped ends, which the destructor waits for.
/// Threads:   confined to one thread at a time.
/// Errors:    kRefused `sandbox.unavailable` when the helper cannot be started; kInternal
///            `sandbox.helper_died` when it ends without a report.
class WaitingProcess {
 public:
  /// One for this very command.
  static Result<WaitingProcess> start(const std::string& helper, const Command& command);
  /// One that makes its namespaces before there is a command; which has then no input and no
  /// network of the host's. It ends by itself when none comes.
  static Result<WaitingProcess> start_spare(const std::string& helper);

  /// Sends the request and stays with the helper until every process of the command is dead,
  /// passing on output and a stop request. Uses no signal handlers.
  Result<HelperRun> run(const SandboxRequest& request, const Command& command) &&;
  /// False when it has ended meanwhile.
  [[nodiscard]] bool is_waiting() const;
  /// Whether it ended before it took the request: the command has not been run.
  [[nodiscard]] static bool has_expired(const Error& error);

 private:
  WaitingProcess() = default;
  static Result<WaitingProcess> start_with(const std::string& helper, bool is_spare, Fd input);
  EndingProcess process_;  ///< the first member: it ends when the socket below is closed
  Fd control_;
  Fd out_;
  Fd err_;
};

}  // namespace galley
