#pragma once

#include <charconv>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace galley {

/// The number of a committed transaction: 1, 2, 3 … in commit order within one workspace.
/// Written in decimal everywhere but in names of files below `.galley`. 0 means none.
struct TxId {
  uint64_t value = 0;

  [[nodiscard]] std::string str() const { return digits(kDecimal); }
  [[nodiscard]] static std::optional<TxId> parse(std::string_view text) {
    return from_digits(text, kDecimal);
  }

  /// How files below `.galley` are named by it: lower-case hexadecimal, as the format has had it
  /// from the first version on.
  [[nodiscard]] std::string file_name() const { return digits(kHexadecimal); }
  [[nodiscard]] static std::optional<TxId> from_file_name(std::string_view text) {
    return from_digits(text, kHexadecimal);
  }

  auto operator<=>(const TxId&) const = default;
  bool operator==(const TxId&) const = default;

 private:
  static constexpr int kDecimal = 10;
  static constexpr int kHexadecimal = 16;

  [[nodiscard]] std::string digits(int base) const {
    char text[20];
    const auto end = std::to_chars(text, text + sizeof text, value, base).ptr;
    return {text, end};
  }
  [[nodiscard]] static std::optional<TxId> from_digits(std::string_view text, int base) {
    TxId id;
    const auto [end, code] =
        std::from_chars(text.data(), text.data() + text.size(), id.value, base);
    if (code != std::errc() || end != text.data() + text.size() || id.value == 0) return {};
    return id;
  }
};

}  // namespace galley
