#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "staging/formats/edit_set.h"
#include "staging/placing/file_index.h"

namespace galley {

/// True when the context of the hunk and its new lines can prove together that it was made: it has
/// a telling context line, and a telling new line or context on both sides.
[[nodiscard]] bool names_neighbours(const Hunk& hunk);

/// The 0-based line where the hunk's change was made already, proved by its context; -1: nowhere,
/// or nothing proves it.
[[nodiscard]] int64_t already_there(FileIndex& index, const Hunk& hunk, int64_t stated);

/// The 0-based line where the file has the result of the hunk, for whatever reason; -1: nowhere.
[[nodiscard]] int64_t new_lines_at(FileIndex& index, const Hunk& hunk);

/// The offset of the lines that an edit adds next to `old_text`, if they are next to it already.
/// `offset` is that of the old text, or of the insertion when there is none.
[[nodiscard]] std::optional<size_t> same_lines_beside(std::string_view file, size_t offset,
                                                      std::string_view old_text,
                                                      std::string_view new_text);

/// What is said of an edit that is made although the same lines stand at `line` (1-based).
[[nodiscard]] Leniency same_lines_note(std::string_view path, size_t line, uint32_t document_line);

}  // namespace galley
