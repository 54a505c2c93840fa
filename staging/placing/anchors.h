#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

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

/// Returns the old lines of the hunk from line `first` on that enclose its line `change`, outermost
/// first: each has less indentation than all telling lines and closing brackets from it to the
/// change.
[[nodiscard]] std::vector<std::string_view> enclosing_lines(const std::vector<HunkLine>& lines,
                                                            size_t change, size_t first = 0);
/// True if the lines show their place by themselves, so that lines above an elision need not.
[[nodiscard]] bool has_own_place(const std::vector<HunkLine>& lines);

/// True if the file has a line that encloses the change in the hunk, but a change at line `line`
/// would not be in the block that this line opens. `change` is the index of the first of adjacent
/// changed lines; lines of the hunk before `first` do not count. Lines that are only inserted come
/// before `line`.
[[nodiscard]] bool leaves_block(FileIndex& index, const Hunk& hunk, size_t change, int64_t line,
                                size_t first = 0);

/// Returns the index of the first anchor that is not a line of the file.
[[nodiscard]] std::optional<size_t> missing_anchor(FileIndex& index, const Hunk& hunk);

}  // namespace galley
