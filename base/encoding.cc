#include "base/encoding.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/result.h"

namespace galley {

void append_hex(std::string& out, uint8_t byte) {
  out.push_back(kHexDigits[byte >> 4U]);
  out.push_back(kHexDigits[byte & 0xfU]);
}

std::string to_hex(std::span<const uint8_t> bytes) {
  std::string out(2 * bytes.size(), '0');
  for (size_t i = 0; i < bytes.size(); ++i) {
    out[2 * i] = kHexDigits[bytes[i] >> 4U];
    out[2 * i + 1] = kHexDigits[bytes[i] & 0xfU];
  }
  return out;
}

std::string random_hex(size_t digits) {
  std::vector<uint8_t> bytes((digits + 1) / 2);
  fill_random(bytes);
  std::string out = to_hex(bytes);
  out.resize(digits);
  return out;
}

namespace {

constexpr unsigned kBitsOfDigit = 6;
constexpr unsigned kBitsOfByte = 8;

}  // namespace

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
      text += kBase64Digits[held >> bits & kDigitMask];
    }
  }
  if (bits > 0) text += kBase64Digits[held << (kBitsOfDigit - bits) & kDigitMask];
  while (text.size() % kGroup != 0) text += '=';
  return text;
}

bool from_base64(std::string_view text, std::string& bytes) {
  constexpr size_t kGroup = 4;
  constexpr size_t kMaxPadding = 2;
  bytes.clear();
  const size_t padded = text.size();
  while (text.ends_with('=') && padded - text.size() < kMaxPadding) text.remove_suffix(1);
  const bool has_padding = text.size() != padded;
  if (text.size() % kGroup == 1 || (has_padding && padded % kGroup != 0)) return false;
  uint32_t held = 0;
  unsigned bits = 0;
  for (const char c : text) {
    const size_t digit = kBase64Digits.find(c);
    if (digit == kBase64Digits.npos) return false;
    held = held << kBitsOfDigit | static_cast<uint32_t>(digit);
    bits += kBitsOfDigit;
    if (bits < kBitsOfByte) continue;
    bits -= kBitsOfByte;
    bytes += static_cast<char>(held >> bits);
  }
  return true;
}

void fill_random(std::span<uint8_t> bytes) {
  constexpr size_t kMostAtOnce = 256;  // of getentropy(3)
  while (!bytes.empty()) {
    const auto part = bytes.first(std::min(bytes.size(), kMostAtOnce));
    GALLEY_CHECK(getentropy(part.data(), part.size()) == 0);
    bytes = bytes.subspan(part.size());
  }
}

}  // namespace galley
