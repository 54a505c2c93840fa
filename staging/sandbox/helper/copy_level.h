#pragma once

#include "staging/sandbox/helper/request.h"

namespace galley {

/// Runs the command on a copy of the tree, for machines without user namespaces. It has Landlock,
/// seccomp, no new privileges and limits, but sees the host's files and processes. As root the
/// command first becomes an unprivileged user. Returns when all of its processes are dead.
[[nodiscard]] HelperReport run_on_copy(const SandboxRequest& request);

}  // namespace galley
