#include "base/hex.h"

#include <random>

namespace galley {

void append_hex(std::string& out, uint8_t byte) {
  out.push_back(kHexDigits[byte >> 4U]);
  out.push_back(kHexDigits[byte & 0xfU]);
}

std::string to_hex(std::span<const uint8_t> bytes) {
  std::string out;
  out.reserve(2 * bytes.size());
  for (const uint8_t byte : bytes) append_hex(out, byte);
  return out;
}

std::string random_hex(size_t digits) {
  std::random_device random;
  std::string out;
  for (size_t i = 0; i < digits; ++i) out.push_back(kHexDigits[random() & 0xfU]);
  return out;
}

}  // namespace galley
