#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "staging/formats/edit_set.h"
#include "staging/placing/file_index.h"

namespace galley {

/// True if the hunk has enough context and new lines to prove that it was already applied. It needs
/// a telling context line. Each of its changes needs a telling new line, or context on both sides.
[[nodiscard]] bool can_prove_applied(const Hunk& hunk);

/// The 0-based line where the hunk was already applied, as its context proves; -1 if it is not
/// found or not proved.
[[nodiscard]] int64_t already_there(FileIndex& index, const Hunk& hunk, int64_t stated);

/// The 0-based line where the file has the hunk's result, for any reason; -1 if it is not found.
[[nodiscard]] int64_t new_lines_at(FileIndex& index, const Hunk& hunk);

/// Returns the offset of the lines that an edit adds next to `old_text`, if they are already there
/// in the file. `offset` is the position of the old text, or of the insertion if the old text is
/// empty.
[[nodiscard]] std::optional<size_t> equal_lines_next_to(std::string_view file, size_t offset,
                                                        std::string_view old_text,
                                                        std::string_view new_text);

/// True if an edit of the old text at `offset` adds text in a line next to which the file has the
/// same text: `[1` becomes `[1, 2` in `[1, 2]`.
[[nodiscard]] bool has_text_next_to(std::string_view file, size_t offset, std::string_view old_text,
                                    std::string_view new_text);

/// The note about an edit that was applied although the same lines are already at `line` (1-based).
[[nodiscard]] Leniency same_lines_note(std::string_view path, size_t line, uint32_t document_line);

}  // namespace galley
