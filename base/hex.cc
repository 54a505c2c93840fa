#include "base/hex.h"

#include <vector>

#include "base/random.h"

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
  std::vector<uint8_t> bytes((digits + 1) / 2);
  fill_random(bytes);
  std::string out = to_hex(bytes);
  out.resize(digits);
  return out;
}

}  // namespace galley
