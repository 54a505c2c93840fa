#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "staging/formats/edit_set.h"
#include "staging/placing/file_index.h"

namespace galley {

/// The index of an anchor that contradicts the hunk's place at line `start`, if there is one.
///
/// Anchors must be in order above the change, or among the lines that the hunk looks for. White
/// space may differ. A line that opens a block by its indentation means a place inside that block:
/// the next anchor and the change must be in it.
[[nodiscard]] std::optional<size_t> anchor_against(FileIndex& index, const Hunk& hunk,
                                                   int64_t start);

/// The index of the first anchor that the file does not have.
[[nodiscard]] std::optional<size_t> missing_anchor(FileIndex& index, const Hunk& hunk);

}  // namespace galley
