#pragma once

#include <vector>

#include "staging/sandbox/helper/fd.h"
#include "staging/sandbox/helper/request.h"
#include "staging/sandbox/helper/setup_failure.h"

namespace galley {

/// The directories that the view is made of, as detached mounts (open_tree(2)).
struct LayerTrees {
  Fd workspace;
  std::vector<Fd> lowers;
  Fd upper_home;
  std::vector<Fd> keep;
  /// For each of SandboxRequest::readable its mount or, for a symbolic link, a descriptor of it.
  /// Root opens them: it may enter a home that the user it becomes in the namespace may not.
  std::vector<Fd> readable;
  std::vector<Fd> writable;  ///< the same for SandboxRequest::writable: mounts only
  std::vector<Fd> layered;   ///< for SandboxRequest::layer_lowers
  std::vector<Fd> layer_homes;
};

/// Clones the mounts of all layers. The caller needs CAP_SYS_ADMIN over its mount namespace.
[[nodiscard]] bool open_layers(const SandboxRequest& request, LayerTrees& trees,
                               SetupFailure& failure);

/// Maps the owners of all layers through the user namespace `user_ns`: root's files on disk belong
/// to an unprivileged user inside. The caller is root.
[[nodiscard]] bool idmap_layers(const LayerTrees& trees, int user_ns, SetupFailure& failure);

}  // namespace galley
