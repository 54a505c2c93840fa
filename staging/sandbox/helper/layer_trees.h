#pragma once

#include <sys/types.h>

#include <cstdint>
#include <set>
#include <vector>

#include "staging/sandbox/helper/descriptors.h"
#include "staging/sandbox/helper/request.h"

namespace galley {

/// The directories of the view, as detached mounts (open_tree(2)).
struct LayerTrees {
  Fd workspace;
  std::vector<Fd> lowers;
  Fd upper_home;
  std::vector<Fd> keep;
  /// For each of SandboxRequest::readable its mount or, for a symbolic link, its descriptor. Root
  /// opens them, because the user of the namespace may lack access to the home.
  std::vector<Fd> readable;
  std::vector<Fd> writable;  ///< the same for SandboxRequest::writable: mounts only
  std::vector<Fd> layered;   ///< for SandboxRequest::layer_lowers
  std::vector<Fd> layer_homes;
};

/// Clones the mounts of all layers. The caller needs CAP_SYS_ADMIN in its mount namespace.
[[nodiscard]] bool open_layers(const SandboxRequest& request, LayerTrees& trees,
                               SetupFailure& failure);

/// Maps the owners of all layers through the user namespace `user_ns`: root's files on disk belong
/// to an unprivileged user inside. The caller is root.
[[nodiscard]] bool idmap_layers(const LayerTrees& trees, int user_ns, SetupFailure& failure);

/// Measures the growth, in bytes, of a command's directories on tmpfs: /proc/<pid>/io does not
/// count writes to memory.
///
/// Ownership: owns descriptors of the directories.
/// Threads:   confined to one thread.
class LayerGauge {
 public:
  /// Starts to watch the tree below an open directory. Does nothing if it is not open or is on a
  /// file system whose writes are counted.
  void watch(Fd directory);

  /// Returns the growth of the trees in bytes. Files without a name that `processes` hold open are
  /// counted, too; null means every process of this /proc except pid 1. A walk through the trees is
  /// slow. So the function returns 0 at once while the file systems have grown by at most
  /// `suspect_bytes` and have freed no memory. If `suspect_bytes` is 0 it always walks, and also
  /// enters directories whose mode denies access to the owner, which is the caller. A tree that is
  /// too deep or cannot be read counts as the growth of its whole file system.
  [[nodiscard]] uint64_t grown(uint64_t suspect_bytes, const std::set<pid_t>* processes);

 private:
  struct Tree {
    Fd directory;
    dev_t device = 0;
    uint64_t first_bytes = 0;
    uint64_t least_used = 0;  ///< of the file system: memory freed by others is not credited
    bool is_bounded = false;  ///< a tmpfs without a size does not report its use
  };
  std::vector<Tree> trees_;
  bool is_disturbed_ = false;  ///< memory of a watched file system was freed
};

/// Builds the command's file tree in this mount namespace and pivots into it. The tree has a
/// read-only root, the overlay at the workspace's own path, a private /tmp, a small /dev and its
/// own /proc. For a live run `overlay` becomes a second mount of the overlay, without mounts below
/// it.
[[nodiscard]] bool enter_view(const SandboxRequest& request, LayerTrees trees, Fd& overlay,
                              SetupFailure& failure);

}  // namespace galley
