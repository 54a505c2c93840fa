#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/history/rebase.h"

namespace galley {

/// The three sides of one file: what both started from, what the workspace has, what is wanted.
struct FileSides {
  Node base;
  Node found;
  Node wanted;
  Content base_bytes;  ///< these three only where both sides changed the content
  Content found_bytes;
  Content wanted_bytes;
};

/// What merging the sides of one file gave: a node and its bytes, or a reason why not.
struct FileMerge {
  std::string reason;  ///< empty when it fits; else as PathConflict::reason
  std::string message;
  std::vector<ConflictHunk> hunks;
  Node node;
  std::string bytes;
  uint32_t markers = 0;
};

/// Merges content by lines and the mode as one value.
[[nodiscard]] FileMerge merge_file(const FileSides& sides, const RebaseOptions& options);

}  // namespace galley
