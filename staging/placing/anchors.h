#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "staging/formats/edit_set.h"
#include "staging/placing/file_index.h"

namespace galley {

/// The number of an anchor that contradicts the hunk's place at line `start`, if one does.
///
/// Anchors must be in their order above the change, or among the lines that the hunk looks for;
/// white space may differ. A line that opens a block by its indentation names a place
/// inside of that block: another anchor and the change must be in it.
[[nodiscard]] std::optional<size_t> anchor_against(FileIndex& index, const Hunk& hunk,
                                                   int64_t start);

/// The number of the first anchor that is nowhere in the file.
[[nodiscard]] std::optional<size_t> missing_anchor(FileIndex& index, const Hunk& hunk);

}  // namespace galley
