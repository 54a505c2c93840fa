#pragma once

#include <cstdint>

#include "staging/sandbox/helper/descriptors.h"
#include "staging/sandbox/helper/request.h"

namespace galley {

/// Sets the resource limits of the calling process.
[[nodiscard]] bool apply_limits(const SandboxRequest& request, SetupFailure& failure);

/// Gives up every capability, for this process and for every program that it executes.
[[nodiscard]] bool drop_capabilities(SetupFailure& failure);

/// From here on no program gains privileges by a setuid bit or file capabilities.
[[nodiscard]] bool forbid_new_privileges(SetupFailure& failure);

/// Returns the Landlock version of this kernel; 0 when it has none.
[[nodiscard]] uint32_t landlock_abi();

/// Lets the process write only below the workspace, the private /tmp and home, and the paths in the
/// request (Landlock), and execute only what the request allows. Does nothing on a kernel without
/// Landlock.
[[nodiscard]] bool apply_landlock(const SandboxRequest& request, SetupFailure& failure);

/// Makes system calls that a command does not need fail (seccomp), and sockets of each family that
/// would reach the host: unix sockets unless the view is private, internet sockets unless the
/// network is.
[[nodiscard]] bool apply_seccomp(const SandboxRequest& request, SetupFailure& failure);

}  // namespace galley
