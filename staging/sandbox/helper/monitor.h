#pragma once

#include <sys/types.h>

#include "staging/sandbox/helper/admission.h"
#include "staging/sandbox/helper/descriptors.h"
#include "staging/sandbox/helper/request.h"

namespace galley {

/// The process outside the namespaces. It makes pid 1 in new ones, lets it continue when there is a
/// request, and stays until no process of the command is left.
///
///     monitor                            pid 1 (pid_one.h)             command
///     start()  -- clone3: namespaces -->  waits
///     run()    -- layers, ids, request -> builds the view, forks  -->  walls, execve
///              <------------------------  report: no process left
///
/// Threads: confined to one thread, the only one of the process.
class Monitor {
 public:
  Monitor() = default;
  Monitor(const Monitor&) = delete;
  Monitor& operator=(const Monitor&) = delete;

  /// Makes the namespaces and pid 1. A second call replaces them.
  [[nodiscard]] bool start(bool has_own_network, SetupFailure& failure);

  /// Runs the request's command, in the namespaces that start() made. If they do not exist or do
  /// not fit the request, it makes new ones. Returns when every process of the command is dead.
  HelperReport run(const ReceivedRequest& received);

  /// Kills pid 1, if there is one, and waits for its end.
  void end();

 private:
  [[nodiscard]] bool admit(const ReceivedRequest& received, SetupFailure& failure) const;
  [[nodiscard]] bool read_request() const;
  [[nodiscard]] HelperReport watch(const SandboxRequest& request) const;

  pid_t pid_ = -1;
  Fd process_;   ///< of pid 1, readable when it has ended
  Fd notes_;     ///< a pipe: pid 1 and the command's process report
  Fd lifeline_;  ///< a socket: pid 1 waits on it, and dies when it is closed
};

/// Runs the command on a copy of the tree, for machines without user namespaces. It has Landlock,
/// seccomp, no new privileges and limits, but sees the host's files and processes. As root the
/// command first becomes an unprivileged user. Returns when all of its processes are dead.
[[nodiscard]] HelperReport run_on_copy(const SandboxRequest& request);

}  // namespace galley
