#pragma once

#include <sys/types.h>

#include <cstdint>
#include <set>
#include <vector>

#include "staging/sandbox/helper/fd.h"

namespace galley {

/// Measures by how many bytes a command's directories on tmpfs have grown: /proc/<pid>/io does not
/// count what is written to memory.
///
/// Ownership: owns descriptors of the directories.
/// Threads:   confined to one thread.
class LayerGauge {
 public:
  /// Starts to watch the tree below an open directory. Does nothing when it is not open or lies on
  /// a file system whose writes are counted.
  void watch(Fd directory);

  /// Returns by how many bytes the trees grew. Files without a name that `processes` hold open are
  /// counted too; null means every process of this /proc but pid 1. Walking the trees is slow: it
  /// returns 0 without doing so while the file systems as a whole have not grown by more than
  /// `suspect_bytes` and nobody freed memory there. With 0 it always walks. A tree that is too deep
  /// or cannot be read counts with the growth of its whole file system.
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
