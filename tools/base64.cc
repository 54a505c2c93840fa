#include "tools/base64.h"

#include <cstdint>

namespace galley {

std::string base64(std::string_view bytes) {
  static constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const auto byte = [&](size_t k) -> uint32_t {
      return i + k < bytes.size() ? static_cast<uint8_t>(bytes[i + k]) : 0;
    };
    const uint32_t triple = byte(0) << 16U | byte(1) << 8U | byte(2);
    out += kDigits[triple >> 18U & 63U];
    out += kDigits[triple >> 12U & 63U];
    out += i + 1 < bytes.size() ? kDigits[triple >> 6U & 63U] : '=';
    out += i + 2 < bytes.size() ? kDigits[triple & 63U] : '=';
  }
  return out;
}

}  // namespace galley
