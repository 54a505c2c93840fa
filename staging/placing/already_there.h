#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "staging/formats/edit_set.h"
#include "staging/placing/file_index.h"

namespace galley {

/// True when the hunk's context and new lines together can prove that it was made. It needs a
/// telling context line, and a telling new line or context on both sides.
[[nodiscard]] bool names_neighbours(const Hunk& hunk);

/// The 0-based line where the hunk was already made, proved by its context. -1: not found or not
/// proved.
[[nodiscard]] int64_t already_there(FileIndex& index, const Hunk& hunk, int64_t stated);

/// The 0-based line where the file has the hunk's result, for any reason; -1: not found.
[[nodiscard]] int64_t new_lines_at(FileIndex& index, const Hunk& hunk);

/// The offset of the lines that an edit adds next to `old_text`, if they are already in place.
/// `offset` is the position of the old text, or of the insertion when the old text is empty.
[[nodiscard]] std::optional<size_t> same_lines_beside(std::string_view file, size_t offset,
                                                      std::string_view old_text,
                                                      std::string_view new_text);

/// The note about an edit that was made although the same lines are at `line` (1-based).
[[nodiscard]] Leniency same_lines_note(std::string_view path, size_t line, uint32_t document_line);

}  // namespace galley
