#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "staging/sandbox/command_runner.h"
#include "staging/sandbox/helper/descriptors.h"
#include "staging/sandbox/helper/request.h"

namespace galley {

/// A helper that has reported: no process of its command is left, and the kernel removes its
/// namespaces and mounts.
///
/// Ownership: owns the child process; the destructor waits for it.
class ExitingProcess {
 public:
  ExitingProcess() = default;
  explicit ExitingProcess(pid_t pid) : pid_(pid) {}
  ExitingProcess(ExitingProcess&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}
  ExitingProcess& operator=(ExitingProcess&& other) noexcept {
    std::swap(pid_, other.pid_);
    return *this;
  }
  ~ExitingProcess() { wait(); }
  /// Waits until the process and its mounts are gone. Returns its exit status, or nothing when it
  /// did not exit or does not exist.
  std::optional<int> wait();
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
};

/// The result of one run of the helper.
struct HelperRun {
  HelperReport report;
  CapturedOutput standard_output;
  CapturedOutput standard_error;
  ExitingProcess helper;
};

/// A started command that runs on: its streams, and the socket over which its helper reports and is
/// told to end it.
struct StartedProcess {
  ExitingProcess helper;  ///< the first member: it ends when the socket below is closed
  Fd control;
  Fd output;
  Fd errors;
};

/// A helper program that has been started and waits for its only request.
///
/// Ownership: owns the child process. The destructor ends it and waits for it.
/// Threads:   confined to one thread at a time.
/// Errors:    kRefused `sandbox.unavailable` when the helper cannot be started; kInternal
///            `sandbox.helper_died` when it ends without a report.
class WaitingProcess {
 public:
  /// Starts one that makes its namespaces, if the request needs any, when the request arrives.
  static Result<WaitingProcess> start(const std::string& helper);
  /// Starts one that makes its namespaces at once, with a network of their own. It ends by itself
  /// if no request arrives for kSpareMs.
  static Result<WaitingProcess> start_spare(const std::string& helper);

  /// Sends the request and the command's input, and relays its output and a stop request. Returns
  /// when every process of the command is dead. Uses no signal handlers.
  Result<HelperRun> run(const SandboxRequest& request, const Command& command) &&;
  /// Sends the request with these descriptors, and returns at once.
  Result<StartedProcess> begin(const SandboxRequest& request,
                               const std::vector<int>& descriptors) &&;
  /// Returns false if it has ended meanwhile.
  [[nodiscard]] bool is_waiting() const;
  /// Returns whether `error` says that the helper ended by itself before it took the request. The
  /// command was then not run.
  [[nodiscard]] static bool has_expired(const Error& error);

 private:
  WaitingProcess() = default;
  static Result<WaitingProcess> start_with(const std::string& helper, bool is_spare);
  ExitingProcess process_;  ///< the first member: it ends when the socket below is closed
  Fd control_;
  Fd out_;
  Fd err_;
};

}  // namespace galley
