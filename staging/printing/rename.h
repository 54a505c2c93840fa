#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "base/result.h"

namespace galley {

/// A file that was removed or created: one end of a possible rename.
struct RenameEnd {
  std::string_view path;
  uint32_t mode = 0;  ///< git mode
  uint64_t size = 0;
  ContentId content;
};

/// A rename of gone[from] to made[to].
struct Rename {
  size_t from = 0;
  size_t to = 0;
  int similarity = 0;  ///< in per cent; 100 for equal contents

  bool operator==(const Rename&) const = default;
};

struct RenameOptions {
  int min_similarity = 50;  ///< git's -M default
  size_t limit = 1000;      ///< git's diff.renameLimit: above limit² pairs, only equal contents
};

/// How much of `before` is also in `after`, in per cent of the larger one. As in git, the bytes of
/// lines (or pieces of 64 bytes) that occur in both are counted. 100 for equal contents.
[[nodiscard]] int similarity(std::string_view before, std::string_view after);

/// Returns the content of one end. The view must be valid until the next call.
using LoadRenameEnd = std::function<Result<std::string_view>(const RenameEnd&)>;

/// Pairs removed files with created files (git's diffcore-rename). Equal contents are paired first,
/// and among these equal file names. Then the most similar pairs follow, down to the minimum. Each
/// end is used at most once. A regular file is not paired with a symlink. Empty files are paired
/// only if their file names are equal. The result is sorted by `to`.
Result<std::vector<Rename>> find_renames(const std::vector<RenameEnd>& gone,
                                         const std::vector<RenameEnd>& made,
                                         const RenameOptions& options, const LoadRenameEnd& load);

}  // namespace galley
