#include "engine/validators/printable.h"

#include <cstdint>
#include <cstring>

namespace galley {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
constexpr uint64_t kHighBits = 0x8080808080808080ULL;

uint8_t byte_at(std::string_view text, size_t at) {
  return at < text.size() ? static_cast<uint8_t>(text[at]) : 0;
}

/// Length of the well-formed sequence at `at`, or 0. RFC 3629, section 4.
size_t sequence_length(std::string_view text, size_t at) {
  const uint8_t first = byte_at(text, at);
  if (first < 0x80) return 1;
  size_t length = 0;
  uint8_t low = 0x80;
  uint8_t high = 0xBF;
  if (first >= 0xC2 && first <= 0xDF) {
    length = 2;
  } else if (first >= 0xE0 && first <= 0xEF) {
    length = 3;
    if (first == 0xE0) low = 0xA0;
    if (first == 0xED) high = 0x9F;
  } else if (first >= 0xF0 && first <= 0xF4) {
    length = 4;
    if (first == 0xF0) low = 0x90;
    if (first == 0xF4) high = 0x8F;
  }
  if (length == 0 || at + length > text.size()) return 0;
  const uint8_t second = byte_at(text, at + 1);
  if (second < low || second > high) return 0;
  for (size_t i = 2; i < length; ++i) {
    if ((byte_at(text, at + i) & 0xC0U) != 0x80) return 0;
  }
  return length;
}

}  // namespace

std::optional<size_t> first_invalid_utf8(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    if (at + sizeof(uint64_t) <= text.size()) {
      uint64_t word = 0;
      std::memcpy(&word, text.data() + at, sizeof word);
      if ((word & kHighBits) == 0) {
        at += sizeof word;
        continue;
      }
    }
    const size_t length = sequence_length(text, at);
    if (length == 0) return at;
    at += length;
  }
  return {};
}

std::string printable(std::string_view text, size_t max_bytes) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t length = sequence_length(text, at);
    const uint8_t first = byte_at(text, at);
    // C1 controls (U+0080 to U+009F) drive terminals just as C0 ones do.
    const bool is_control = first < 0x20 || first == 0x7F ||
                            (first == 0xC2 && length == 2 && byte_at(text, at + 1) < 0xA0);
    const bool is_blank = first == '\t' || first == '\n';
    const std::string_view piece = length == 0 || (is_control && !is_blank)
                                       ? kReplacement
                                       : (is_blank ? " " : text.substr(at, length));
    if (out.size() + piece.size() > max_bytes) return out + "…";
    out += piece;
    at += length == 0 ? 1 : length;
  }
  return out;
}

}  // namespace galley
