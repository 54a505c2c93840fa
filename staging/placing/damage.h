#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace galley {

/// The length of a line number at the beginning of a line, with its separator; 0 if there is none.
/// `number` gets its value.
[[nodiscard]] size_t number_length(std::string_view line, uint64_t& number);

/// Returns the line with the characters that `&lt;` and similar entities stand for.
[[nodiscard]] std::string without_entities(std::string_view line);

/// True if the line is `original` with other blanks, quotes or dashes, with a line number before
/// it, or with its signs escaped as in HTML.
[[nodiscard]] bool is_damaged_copy(std::string_view line, std::string_view original);

}  // namespace galley
