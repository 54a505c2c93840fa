#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "base/content_id.h"
#include "base/result.h"

namespace galley {

/// A file that was removed or created: one end of a possible rename.
struct RenameEnd {
  std::string_view path;
  uint32_t mode = 0;  ///< git mode
  uint64_t size = 0;
  ContentId content;
};

/// gone[from] became made[to].
struct Rename {
  size_t from = 0;
  size_t to = 0;
  int similarity = 0;  ///< per cent; 100 for the same content

  bool operator==(const Rename&) const = default;
};

struct RenameOptions {
  int min_similarity = 50;  ///< git's -M default
  size_t limit = 1000;      ///< git's diff.renameLimit: above limit² pairs, only exact ones
};

/// How much of `before` is also in `after`, in per cent of the larger one. git's measure: the bytes
/// of lines (or pieces of 64 bytes) that occur in both. 100 for equal contents.
[[nodiscard]] int similarity(std::string_view before, std::string_view after);

/// Returns the content of an end. The view must be valid until the next call.
using LoadRenameEnd = std::function<Result<std::string_view>(const RenameEnd&)>;

/// Pairs removed files with created files (git's diffcore-rename): equal contents first, and among
/// those equal file names first; then the most similar pairs down to the minimum. Each end is used
/// once; a regular file never becomes a symlink; empty files are paired only if their names are
/// equal. Sorted by `to`.
Result<std::vector<Rename>> find_renames(const std::vector<RenameEnd>& gone,
                                         const std::vector<RenameEnd>& made,
                                         const RenameOptions& options, const LoadRenameEnd& load);

}  // namespace galley
