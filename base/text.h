#pragma once

#include <algorithm>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace galley {

/// The functions for characters know only ASCII and do not depend on the locale, because they read
/// formats and not prose.

/// White space of the C locale: blank, \t, \n, \v, \f, \r.
[[nodiscard]] constexpr bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
/// White space in JSON and git: blank, \t, \n, \r.
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

/// Sets of white space as the formats define them.
inline constexpr std::string_view kSpaces = " \t\n\v\f\r";
inline constexpr std::string_view kPlainSpaces = " \t\n\r";
inline constexpr std::string_view kSpaceAndTab = " \t";

/// Returns the text without the characters of `spaces` at its end.
[[nodiscard]] constexpr std::string_view trim_end(std::string_view text,
                                                  std::string_view spaces = kSpaces) {
  return text.substr(0, text.find_last_not_of(spaces) + 1);
}
/// Returns the text without the characters of `spaces` at both ends.
[[nodiscard]] constexpr std::string_view trim(std::string_view text,
                                              std::string_view spaces = kSpaces) {
  text = trim_end(text, spaces);
  return text.substr(std::min(text.find_first_not_of(spaces), text.size()));
}
/// Whether the text consists only of white space.
[[nodiscard]] constexpr bool is_blank(std::string_view text, std::string_view spaces = kSpaces) {
  return text.find_first_not_of(spaces) == std::string_view::npos;
}

/// Removes the first line from `text`, with its newline, and returns it without the newline.
constexpr std::string_view take_line(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(line.size() + 1, text.size()));
  return line;
}
/// The lines of a short text; take_line() needs no memory for long ones. A last line without a
/// newline counts; nothing follows the last newline.
[[nodiscard]] std::vector<std::string_view> lines_of(std::string_view text);

/// Joins the texts, separated by `between`.
[[nodiscard]] std::string join(const std::vector<std::string>& texts,
                               std::string_view between = ", ");
/// "a, b and 3 more": at most `shown` of the texts, and the number of the others.
[[nodiscard]] std::string join_some(const std::vector<std::string>& texts, size_t shown);

/// Length of the well-formed UTF-8 sequence (RFC 3629: no overlong forms, no surrogates, nothing
/// above U+10FFFF) that begins at `at`, or 0 when there is none.
[[nodiscard]] size_t utf8_sequence_length(std::string_view bytes, size_t at);

/// Offset of the first byte that is not part of well-formed UTF-8, if there is one.
[[nodiscard]] std::optional<size_t> first_invalid_utf8(std::string_view bytes);

/// Whether the bytes are UTF-8.
[[nodiscard]] inline bool is_utf8(std::string_view bytes) { return !first_invalid_utf8(bytes); }

/// Returns the candidate that a mistyped name most likely meant, or nothing when none is near. The
/// measure is the edit distance (Damerau-Levenshtein, optimal string alignment, case ignored). Of
/// equally near candidates the first wins.
[[nodiscard]] std::optional<std::string> nearest_name(std::string_view name,
                                                      const std::vector<std::string>& candidates);

/// Returns the end of a message: "; did you mean 'x'?", or an empty text when no candidate is near.
[[nodiscard]] std::string did_you_mean(std::string_view name,
                                       const std::vector<std::string>& candidates);

/// Parses the whole text as a number in the given base. Returns nothing for an empty text, for
/// other characters after the digits, and for a number that does not fit `T`. A minus sign is
/// accepted if `T` is signed.
template <std::integral T>
[[nodiscard]] std::optional<T> number_of(std::string_view text, int base = 10) {
  T number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, code] = std::from_chars(text.data(), end, number, base);
  if (code != std::errc() || rest != end) return std::nullopt;
  return number;
}

/// "1 path", "3 paths".
[[nodiscard]] inline std::string counted(uint64_t count, std::string_view noun) {
  return std::to_string(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

}  // namespace galley
