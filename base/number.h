#pragma once

#include <charconv>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace galley {

/// The number that the whole text is, in digits of `base`: nothing for an empty text, for anything
/// behind the digits, and for a number that `T` cannot hold. A minus sign is read where T has one.
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
