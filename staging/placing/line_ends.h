#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace galley {

/// The line end of the line that contains the byte at `offset` of a file's text. If that line lacks
/// one, it is the line end of the line above, or "\n" if there is none.
[[nodiscard]] std::string_view line_end_near(std::string_view file, size_t offset);

/// Returns `text` with the line ends that it needs to replace `length` bytes at `offset` of a
/// file's text. Each line gets the line end of the line that it keeps or replaces, or of the line
/// before it.
[[nodiscard]] std::string with_line_ends_of(std::string_view file, size_t offset, size_t length,
                                            std::string_view text);

/// True if `new_text` has a line of `old_text` with another line end. Then the edit changes line
/// ends, and they must be written as given.
[[nodiscard]] bool changes_line_ends(std::string_view old_text, std::string_view new_text);

}  // namespace galley
