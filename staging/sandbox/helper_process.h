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

/// A helper that has sent its report. No process of its command is left, and the kernel is removing
/// its namespaces and mounts.
///
/// Ownership: owns the child process. The destructor waits until it has ended.
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

/// A running command: its output streams, and the socket to its helper. Over the socket the helper
/// reports, and the engine asks it to end the command.
struct StartedProcess {
  ExitingProcess helper;  ///< must be first: the helper ends when `control` is closed
  Fd control;
  Fd output;
  Fd errors;
};

/// A helper program that has been started and waits for its only request.
///
/// Ownership: owns the child process. The destructor ends it and waits until it has ended.
/// Threads:   confined to one thread at a time.
/// Errors:    kRefused `sandbox.unavailable` when the helper cannot be started; kInternal
///            `sandbox.helper_died` when it ends without a report.
class WaitingProcess {
 public:
  /// Starts a helper that makes its namespaces when the request arrives, if the request needs any.
  static Result<WaitingProcess> start(const std::string& helper);
  /// Starts a helper that makes its namespaces at once, including a network namespace. It ends by
  /// itself if no request arrives within kSpareMs.
  static Result<WaitingProcess> start_spare(const std::string& helper);

  /// Sends the request, the command's input and the socket of its proxy (-1: none), and relays its
  /// output and a stop request. Returns when every process of the command is dead. Uses no signal
  /// handlers.
  Result<HelperRun> run(const SandboxRequest& request, const Command& command, int proxy = -1) &&;
  /// Sends the request with these descriptors, and returns at once.
  Result<StartedProcess> begin(const SandboxRequest& request,
                               const std::vector<int>& descriptors) &&;
  /// Returns whether the helper still runs and waits.
  [[nodiscard]] bool is_waiting() const;
  /// Returns whether `error` says that the helper ended by itself before it received the request.
  /// The command was then not run.
  [[nodiscard]] static bool has_expired(const Error& error);

 private:
  WaitingProcess() = default;
  static Result<WaitingProcess> start_with(const std::string& helper, bool is_spare);
  ExitingProcess process_;  ///< must be first: the helper ends when control_ is closed
  Fd control_;
  Fd out_;
  Fd err_;
};

}  // namespace galley
