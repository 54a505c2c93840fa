#pragma once

#include <cstdint>

#include "staging/sandbox/helper/descriptors.h"
#include "staging/sandbox/helper/request.h"

namespace galley {

/// Sets the resource limits of the calling process.
[[nodiscard]] bool apply_limits(const SandboxRequest& request, SetupFailure& failure);

/// Gives up every capability, for this process and for every program that it executes.
[[nodiscard]] bool drop_capabilities(SetupFailure& failure);

/// Prevents this process and every program that it executes from gaining privileges by setuid bits
/// or file capabilities.
[[nodiscard]] bool forbid_new_privileges(SetupFailure& failure);

/// Returns the Landlock version of this kernel; 0 when it has none.
[[nodiscard]] uint32_t landlock_abi();

/// Lets the process write only below the workspace, the private /tmp and home, and the paths in the
/// request (Landlock), and execute only what the request allows. Does nothing on a kernel without
/// Landlock.
[[nodiscard]] bool apply_landlock(const SandboxRequest& request, SetupFailure& failure);

/// Makes system calls fail that a command does not need (seccomp). Unix sockets are allowed only if
/// they cannot reach the host. Internet sockets are allowed in a private network and with a grant
/// of the host's network.
[[nodiscard]] bool apply_seccomp(const SandboxRequest& request, SetupFailure& failure);

}  // namespace galley
