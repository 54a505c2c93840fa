#pragma once

#include <cstdint>

#include "staging/sandbox/helper/request.h"
#include "staging/sandbox/helper/setup_failure.h"

namespace galley {

/// Sets the resource limits of the calling process.
[[nodiscard]] bool apply_limits(const SandboxRequest& request, SetupFailure& failure);

/// Gives up every capability, for good and for every program executed later.
[[nodiscard]] bool drop_capabilities(SetupFailure& failure);

/// No program executed from here on gains anything by being setuid or having file capabilities.
[[nodiscard]] bool forbid_new_privileges(SetupFailure& failure);

/// The Landlock version of this kernel; 0 when it has none.
[[nodiscard]] uint32_t landlock_abi();

/// Lets the process write below the workspace and the private /tmp only (Landlock). Does nothing
/// on a kernel without it.
[[nodiscard]] bool apply_landlock(const SandboxRequest& request, SetupFailure& failure);

/// The system calls a command has no business with fail from here on (seccomp), and so do sockets
/// of every family that would lead to the host: unix ones without a view of its own, internet ones
/// without a network namespace.
[[nodiscard]] bool apply_seccomp(const SandboxRequest& request, SetupFailure& failure);

}  // namespace galley
