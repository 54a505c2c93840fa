#include "base/hmac.h"

#include <cstdint>

#include "base/content_id.h"

namespace galley {
namespace {

constexpr size_t kHashBlockBytes = 64;  // of SHA-256

std::string bytes_of_id(const ContentId& id) {
  return {reinterpret_cast<const char*>(id.bytes().data()), id.bytes().size()};
}

std::string padded(std::string_view key, uint8_t pad) {
  std::string block(kHashBlockBytes, '\0');
  key.copy(block.data(), block.size());
  for (char& c : block) c = static_cast<char>(static_cast<uint8_t>(c) ^ pad);
  return block;
}

}  // namespace

std::string hmac_sha256(std::string_view key, std::string_view message) {
  constexpr uint8_t kInner = 0x36;
  constexpr uint8_t kOuter = 0x5c;
  std::string hashed;
  if (key.size() > kHashBlockBytes) {
    hashed = bytes_of_id(ContentId::of(key));
    key = hashed;
  }
  const std::string inner = padded(key, kInner) + std::string(message);
  return bytes_of_id(ContentId::of(padded(key, kOuter) + bytes_of_id(ContentId::of(inner))));
}

bool equal_in_constant_time(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    difference |= static_cast<unsigned>(static_cast<uint8_t>(a[i]) ^ static_cast<uint8_t>(b[i]));
  }
  return difference == 0;
}

}  // namespace galley
