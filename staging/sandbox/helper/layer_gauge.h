#pragma once

#include <sys/types.h>

#include <cstdint>
#include <set>
#include <vector>

#include "staging/sandbox/helper/fd.h"

namespace galley {

/// By how many bytes a command's directories have grown where /proc/<pid>/io does not count what is
/// written, because the file system is memory: tmpfs.
///
/// Ownership: owns descriptors of the directories. Threads: confined to one thread.
class LayerGauge {
 public:
  /// Watches the tree below an open directory, from what it holds now on. Does nothing for one that
  /// is not open or whose writes are counted.
  void watch(Fd directory);

  /// What the trees grew by, files without a name that `processes` hold open included (of all of
  /// this /proc but pid 1 when it is null). A look into the trees is dear: it returns 0 without one
  /// while the file systems as a whole have not grown by more than `suspect_bytes` and nobody freed
  /// memory there; with 0 it always looks. A tree that cannot be measured, being too deep or shut,
  /// is taken to have grown by as much as its file system.
  [[nodiscard]] uint64_t grown(uint64_t suspect_bytes, const std::set<pid_t>* processes);

 private:
  struct Tree {
    Fd directory;
    dev_t device = 0;
    uint64_t first_bytes = 0;
    uint64_t least_used = 0;  ///< of the file system: what others free is not given to the command
    bool is_bounded = false;  ///< a tmpfs without a size does not say what is used
  };
  std::vector<Tree> trees_;
  bool is_disturbed_ = false;  ///< somebody freed memory of a watched file system
};

}  // namespace galley
