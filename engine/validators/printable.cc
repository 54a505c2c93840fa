#include "engine/validators/printable.h"

#include <cstdint>

#include "base/utf8.h"

namespace galley {

std::string printable(std::string_view text, size_t max_bytes) {
  constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
  const auto byte_at = [text](size_t at) {
    return at < text.size() ? static_cast<uint8_t>(text[at]) : uint8_t{0};
  };
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t length = utf8_sequence_length(text, at);
    const uint8_t first = byte_at(at);
    // C1 controls (U+0080 to U+009F) drive terminals just as C0 ones do.
    const bool is_control =
        first < 0x20 || first == 0x7F || (first == 0xC2 && length == 2 && byte_at(at + 1) < 0xA0);
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
