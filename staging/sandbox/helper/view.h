#pragma once

#include <vector>

#include "staging/sandbox/helper/fd.h"
#include "staging/sandbox/helper/request.h"
#include "staging/sandbox/helper/setup_failure.h"

namespace galley {

/// The directories that the view is made of, as detached mounts.
struct LayerTrees {
  Fd workspace;
  std::vector<Fd> lowers;
  Fd upper_home;
  std::vector<Fd> keep;
  /// One for each of SandboxRequest::readable: its mount, or a descriptor of the link that it is.
  /// Root may enter a home that what it becomes in the user namespace may not.
  std::vector<Fd> readable;
};

/// Clones the mounts of all layers. The caller needs CAP_SYS_ADMIN over its mount namespace.
[[nodiscard]] bool open_layers(const SandboxRequest& request, LayerTrees& trees,
                               SetupFailure& failure);

/// Maps the owners of all layers through the user namespace `user_ns`, so that root's files on
/// disk belong to an unprivileged user inside (the caller is root).
[[nodiscard]] bool idmap_layers(const LayerTrees& trees, int user_ns, SetupFailure& failure);

/// Builds the whole file tree of the command in this mount namespace and pivots into it: a minimal
/// read-only root, the overlay at the workspace's own path, private /tmp, small /dev, own /proc.
[[nodiscard]] bool enter_view(const SandboxRequest& request, LayerTrees trees,
                              SetupFailure& failure);

}  // namespace galley
