#pragma once

#include "staging/sandbox/helper/descriptors.h"
#include "staging/sandbox/helper/layer_trees.h"
#include "staging/sandbox/helper/request.h"

namespace galley {

/// Builds the command's file tree in this mount namespace and pivots into it. The tree has a
/// read-only root, the overlay at the workspace's own path, a private /tmp, a small /dev and its
/// own /proc. For a live run `overlay` becomes a second mount of the overlay, without mounts below
/// it.
[[nodiscard]] bool enter_view(const SandboxRequest& request, LayerTrees trees, Fd& overlay,
                              SetupFailure& failure);

}  // namespace galley
