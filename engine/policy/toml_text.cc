#include "engine/policy/toml_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/utf8.h"

namespace galley {
namespace {

constexpr unsigned char kFirstPrintable = 0x20;
constexpr unsigned char kLastPrintable = 0x7e;

/// The code point of a well-formed sequence of `length` bytes.
uint32_t code_point(std::string_view bytes, size_t length) {
  constexpr uint32_t kPayload = 0x3f;
  constexpr std::array<uint32_t, 5> kFirstMask = {0, 0x7f, 0x1f, 0x0f, 0x07};
  uint32_t value = static_cast<uint8_t>(bytes[0]) & kFirstMask[length];
  for (size_t i = 1; i < length; ++i) {
    value = value << 6U | (static_cast<uint8_t>(bytes[i]) & kPayload);
  }
  return value;
}

}  // namespace

std::string toml_quoted(std::string_view text) {
  std::string out = "\"";
  for (size_t at = 0; at < text.size();) {
    const char c = text[at];
    const auto byte = static_cast<unsigned char>(c);
    const size_t length = std::max<size_t>(1, utf8_sequence_length(text, at));
    if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (byte >= kFirstPrintable && byte <= kLastPrintable) {
      out += c;
    } else {
      out += fmt::format("\\U{:08X}", code_point(text.substr(at), length));
    }
    at += length;
  }
  return out + '"';
}

std::string toml_inline_table(const std::map<std::string, std::string>& texts) {
  std::string out;
  for (const auto& [name, value] : texts) {
    out += (out.empty() ? "" : ", ") + toml_quoted(name) + " = " + toml_quoted(value);
  }
  return "{" + out + "}";
}

}  // namespace galley
