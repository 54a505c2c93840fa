#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace galley {

/// ASCII only, and the same in every locale: the texts that Galley reads are formats, not prose.

/// White space of C's locale: blank, \t, \n, \v, \f, \r.
[[nodiscard]] constexpr bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
/// What JSON and git take for white space: blank, \t, \n, \r.
[[nodiscard]] constexpr bool is_plain_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}
[[nodiscard]] constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
[[nodiscard]] constexpr char to_lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}
[[nodiscard]] inline std::string to_lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](char c) { return to_lower(c); });
  return out;
}

/// A set of white space that a format defines for itself.
inline constexpr std::string_view kSpaces = " \t\n\v\f\r";
inline constexpr std::string_view kPlainSpaces = " \t\n\r";
inline constexpr std::string_view kBlanks = " \t";

/// The text without the characters of `spaces` at its end, or at both ends.
[[nodiscard]] constexpr std::string_view trim_end(std::string_view text,
                                                  std::string_view spaces = kSpaces) {
  return text.substr(0, text.find_last_not_of(spaces) + 1);
}
[[nodiscard]] constexpr std::string_view trim(std::string_view text,
                                              std::string_view spaces = kSpaces) {
  text = trim_end(text, spaces);
  return text.substr(std::min(text.find_first_not_of(spaces), text.size()));
}
/// Whether the text holds nothing but white space.
[[nodiscard]] constexpr bool is_blank(std::string_view text, std::string_view spaces = kSpaces) {
  return text.find_first_not_of(spaces) == std::string_view::npos;
}

/// The texts with `between` between each two.
[[nodiscard]] std::string join(const std::vector<std::string>& texts,
                               std::string_view between = ", ");
/// "a, b and 3 more": at most `shown` of the texts, and the number of the others.
[[nodiscard]] std::string join_some(const std::vector<std::string>& texts, size_t shown);

}  // namespace galley
