#pragma once

#include "staging/sandbox/helper/request.h"

namespace galley {

/// Runs the command on a copy of the tree, for machines without user namespaces: with Landlock,
/// seccomp, no new privileges and limits, but in sight of the host's files and processes. As root
/// the command becomes an unprivileged user first. Returns when all of its processes are dead.
[[nodiscard]] HelperReport run_on_copy(const SandboxRequest& request);

}  // namespace galley
