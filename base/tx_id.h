#pragma once

#include <charconv>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace galley {

/// The number of a committed transaction: 1, 2, 3 … in commit order within one workspace.
/// Written in lower-case hexadecimal without padding. 0 means none.
struct TxId {
  uint64_t value = 0;

  [[nodiscard]] std::string hex() const {
    char digits[16];
    const auto end = std::to_chars(digits, digits + sizeof digits, value, 16).ptr;
    return {digits, end};
  }
  [[nodiscard]] static std::optional<TxId> from_hex(std::string_view text) {
    TxId id;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), id.value, 16);
    if (code != std::errc() || end != text.data() + text.size() || id.value == 0) return {};
    return id;
  }
  auto operator<=>(const TxId&) const = default;
  bool operator==(const TxId&) const = default;
};

}  // namespace galley
