#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "staging/formats/edit_set.h"
#include "staging/placing/file_index.h"

namespace galley {

/// Returns the index of an anchor that contradicts the hunk's place at line `start`, if there is
/// one.
///
/// Anchors must be in order, above the change or among the hunk's old lines. White space may
/// differ. If the line of an anchor opens a block by its indentation, the next anchor and the
/// change must be in that block.
[[nodiscard]] std::optional<size_t> anchor_against(FileIndex& index, const Hunk& hunk,
                                                   int64_t start);

/// Returns the index of the first anchor that is not a line of the file.
[[nodiscard]] std::optional<size_t> missing_anchor(FileIndex& index, const Hunk& hunk);

}  // namespace galley
