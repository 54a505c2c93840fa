#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace galley {

/// The line end of the line that holds the byte at `offset` of a file's text; where that line has
/// none, that of the line above; "\n" where there is neither.
[[nodiscard]] std::string_view line_end_near(std::string_view file, size_t offset);

/// `text` as it is put in place of `length` bytes at `offset` of a file's text: its new lines end,
/// one by one, as the lines that they replace, or as the line that they follow.
[[nodiscard]] std::string with_line_ends_of(std::string_view file, size_t offset, size_t length,
                                            std::string_view text);

/// True when `new_text` has a line of `old_text` with another end: the change is about line ends,
/// which must stay as they are written.
[[nodiscard]] bool changes_line_ends(std::string_view old_text, std::string_view new_text);

}  // namespace galley
