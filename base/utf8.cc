#include "base/utf8.h"

#include <cstdint>
#include <cstring>

namespace galley {

/// Table 3-7 of the Unicode standard.
size_t utf8_sequence_length(std::string_view bytes, size_t at) {
  const auto byte = [&](size_t i) -> uint8_t {
    return at + i < bytes.size() ? static_cast<uint8_t>(bytes[at + i]) : 0;
  };
  const auto in = [](uint8_t value, uint8_t low, uint8_t high) {
    return value >= low && value <= high;
  };
  if (at >= bytes.size()) return 0;
  const uint8_t first = byte(0);
  if (first < 0x80) return 1;
  if (in(first, 0xc2, 0xdf)) return in(byte(1), 0x80, 0xbf) ? 2 : 0;
  if (in(first, 0xe0, 0xef)) {
    const uint8_t low = first == 0xe0 ? 0xa0 : 0x80;
    const uint8_t high = first == 0xed ? 0x9f : 0xbf;
    return in(byte(1), low, high) && in(byte(2), 0x80, 0xbf) ? 3 : 0;
  }
  if (in(first, 0xf0, 0xf4)) {
    const uint8_t low = first == 0xf0 ? 0x90 : 0x80;
    const uint8_t high = first == 0xf4 ? 0x8f : 0xbf;
    return in(byte(1), low, high) && in(byte(2), 0x80, 0xbf) && in(byte(3), 0x80, 0xbf) ? 4 : 0;
  }
  return 0;
}

std::optional<size_t> first_invalid_utf8(std::string_view bytes) {
  constexpr uint64_t kHighBits = 0x8080808080808080U;
  for (size_t at = 0; at < bytes.size();) {
    uint64_t eight = 0;
    if (at + sizeof eight <= bytes.size()) {
      std::memcpy(&eight, bytes.data() + at, sizeof eight);
      if ((eight & kHighBits) == 0) {
        at += sizeof eight;
        continue;
      }
    }
    const size_t length = utf8_sequence_length(bytes, at);
    if (length == 0) return at;
    at += length;
  }
  return {};
}

}  // namespace galley
