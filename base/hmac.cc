#include "base/hmac.h"

#include <array>
#include <cstdint>

#include "base/content_id.h"

namespace galley {
namespace {

constexpr size_t kBlockBytes = 64;  // of SHA-256
constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr unsigned kBitsOfDigit = 6;
constexpr unsigned kBitsOfByte = 8;

std::string bytes_of(const ContentId& id) {
  return {reinterpret_cast<const char*>(id.bytes().data()), id.bytes().size()};
}

std::string padded(std::string_view key, uint8_t pad) {
  std::string block(kBlockBytes, '\0');
  key.copy(block.data(), block.size());
  for (char& c : block) c = static_cast<char>(static_cast<uint8_t>(c) ^ pad);
  return block;
}

}  // namespace

std::string hmac_sha256(std::string_view key, std::string_view message) {
  constexpr uint8_t kInner = 0x36;
  constexpr uint8_t kOuter = 0x5c;
  std::string hashed;
  if (key.size() > kBlockBytes) {
    hashed = bytes_of(ContentId::of(key));
    key = hashed;
  }
  const std::string inner = padded(key, kInner) + std::string(message);
  return bytes_of(ContentId::of(padded(key, kOuter) + bytes_of(ContentId::of(inner))));
}

bool equal_in_constant_time(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    difference |= static_cast<unsigned>(static_cast<uint8_t>(a[i]) ^ static_cast<uint8_t>(b[i]));
  }
  return difference == 0;
}

std::string base64(std::string_view bytes) {
  constexpr size_t kGroup = 4;
  constexpr uint32_t kDigitMask = 0x3f;
  std::string text;
  uint32_t held = 0;
  unsigned bits = 0;
  for (const char c : bytes) {
    held = held << kBitsOfByte | static_cast<uint8_t>(c);
    bits += kBitsOfByte;
    while (bits >= kBitsOfDigit) {
      bits -= kBitsOfDigit;
      text += kDigits[held >> bits & kDigitMask];
    }
  }
  if (bits > 0) text += kDigits[held << (kBitsOfDigit - bits) & kDigitMask];
  while (text.size() % kGroup != 0) text += '=';
  return text;
}

bool from_base64(std::string_view text, std::string& bytes) {
  bytes.clear();
  while (text.ends_with('=')) text.remove_suffix(1);
  uint32_t held = 0;
  unsigned bits = 0;
  for (const char c : text) {
    const size_t digit = kDigits.find(c);
    if (digit == kDigits.npos) return false;
    held = held << kBitsOfDigit | static_cast<uint32_t>(digit);
    bits += kBitsOfDigit;
    if (bits < kBitsOfByte) continue;
    bits -= kBitsOfByte;
    bytes += static_cast<char>(held >> bits);
  }
  return true;
}

}  // namespace galley
