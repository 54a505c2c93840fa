#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace galley {

/// The line end of the line that contains the byte at `offset` of a file's text. If that line lacks
/// one, the line end of the line above; "\n" if that lacks one too.
[[nodiscard]] std::string_view line_end_near(std::string_view file, size_t offset);

/// `text` in the form in which it replaces `length` bytes at `offset` of a file's text. Its new
/// lines end like the lines that they replace, one by one, or like the line before them.
[[nodiscard]] std::string with_line_ends_of(std::string_view file, size_t offset, size_t length,
                                            std::string_view text);

/// True when `new_text` has a line of `old_text` with another end. Then the change is about line
/// ends, which must stay as written.
[[nodiscard]] bool changes_line_ends(std::string_view old_text, std::string_view new_text);

}  // namespace galley
