#pragma once

#include "staging/sandbox/helper/request.h"

namespace galley {

/// The weaker way, for machines without user namespaces: the command runs on a copy of the tree
/// with Landlock, seccomp, no new privileges and limits, but sees the host's files and processes.
/// As root it becomes an unprivileged user first.
[[nodiscard]] HelperReport run_on_copy(const SandboxRequest& request);

}  // namespace galley
