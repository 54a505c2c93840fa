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

/// Returns a hunk that only adds lines below its last anchor, with the line of that anchor as
/// context. Nullopt if the file's lines that equal the anchor differ in their blanks, or if the
/// indentation does not show that the added lines belong right below each.
[[nodiscard]] std::optional<Hunk> with_anchor_as_context(const Lines& file, const Hunk& hunk);

/// Returns the old lines of the hunk from line `first` on that enclose its line `change`, outermost
/// first: each has less indentation than all telling lines and closing brackets from it to the
/// change.
[[nodiscard]] std::vector<std::string_view> enclosing_lines(const std::vector<HunkLine>& lines,
                                                            size_t change, size_t first = 0);
/// Returns the lines above an elision that must enclose the part behind it, `lines[begin, end)`. If
/// the part shows its place by itself, that is at most the line right above the elision, unless the
/// elision is in their block by its indentation.
[[nodiscard]] std::vector<std::string_view> anchors_of_part(const std::vector<HunkLine>& lines,
                                                            size_t begin, size_t end,
                                                            std::string_view elision);
/// True if the text after the second `@@` does not head the place at line `start`: it is not above
/// it, or another block of its depth is in between. Does not build an index.
[[nodiscard]] bool contradicts_section(const Lines& file, const Hunk& hunk, int64_t start);
/// True if some change would not be in a block that a line of the hunk opens around it, though the
/// file has that line. `places` has the file's line for each old line of the hunk, -1 if it has
/// none. Before a line in `parts`, a part of the hunk ends; its lines do not enclose later parts.
[[nodiscard]] bool leaves_a_block(FileIndex& index, const Hunk& hunk,
                                  const std::vector<int64_t>& places,
                                  const std::vector<size_t>& parts = {});

/// True if a line of the hunk that encloses a change is not in the file, and the block around the
/// place of the change has another name. `places` as above.
[[nodiscard]] bool is_of_other_block(FileIndex& index, const Hunk& hunk,
                                     const std::vector<int64_t>& places);

/// True if the text after the second `@@` is a line of the file, as git writes it, but `start` is
/// in another block of its depth. A hunk with the head of that block is not.
[[nodiscard]] bool is_below_another_header(FileIndex& index, const Hunk& hunk, int64_t start);

/// Whether a context line names an item, as in `name: "x"` or `"x": {`, and the file has no such
/// line. The change is then for an item that is not there.
[[nodiscard]] bool names_missing_item(FileIndex& index, const Hunk& hunk);

/// Returns the index of the first anchor that is not a line of the file.
[[nodiscard]] std::optional<size_t> missing_anchor(FileIndex& index, const Hunk& hunk);

}  // namespace galley
