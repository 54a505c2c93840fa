#include "base/printable.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/encoding.h"
#include "base/text.h"

namespace galley {
namespace {

constexpr std::string_view kReverseOn = "\033[7m";
constexpr std::string_view kReverseOff = "\033[27m";

struct CodePoints {
  uint32_t first;
  uint32_t last;
};

/// Characters that are invisible or change how their neighbours are displayed: C1 controls (general
/// category Cc), Default_Ignorable_Code_Point of Unicode's DerivedCoreProperties.txt (zero-width,
/// bidirectional and tag characters, fillers, variation selectors), line and paragraph separators
/// and interlinear annotations. Ascending.
constexpr std::array<CodePoints, 18> kInvisible = {{
    {0x80, 0x9f},
    {0xad, 0xad},
    {0x34f, 0x34f},
    {0x61c, 0x61c},
    {0x115f, 0x1160},
    {0x17b4, 0x17b5},
    {0x180b, 0x180f},
    {0x200b, 0x200f},
    {0x2028, 0x202e},
    {0x2060, 0x206f},
    {0x3164, 0x3164},
    {0xfe00, 0xfe0f},
    {0xfeff, 0xfeff},
    {0xffa0, 0xffa0},
    {0xfff0, 0xfffb},
    {0x1bca0, 0x1bca3},
    {0x1d173, 0x1d17a},
    {0xe0000, 0xe0fff},
}};

bool is_invisible(uint32_t code) {
  return std::any_of(kInvisible.begin(), kInvisible.end(), [&](const CodePoints& range) {
    return range.first <= code && code <= range.last;
  });
}

uint32_t code_point(std::string_view sequence) {
  constexpr std::array<uint32_t, 5> kLeadBits = {0, 0x7f, 0x1f, 0x0f, 0x07};
  uint32_t code = static_cast<uint8_t>(sequence[0]) & kLeadBits.at(sequence.size());
  for (const char next : sequence.substr(1))
    code = code << 6U | (static_cast<uint8_t>(next) & 0x3fU);
  return code;
}

bool is_plain(char c) {
  const auto byte = static_cast<uint8_t>(c);
  return (byte >= 0x20 && byte < 0x7f) || c == '\n' || c == '\t';
}

std::string code_point_name(uint32_t code) {
  constexpr std::string_view kUpperCaseDigits = "0123456789ABCDEF";
  constexpr size_t kFewestDigits = 4;
  std::string digits;
  for (; code != 0 || digits.size() < kFewestDigits; code >>= 4U) {
    digits.insert(digits.begin(), kUpperCaseDigits[code & 0xfU]);
  }
  return "<U+" + digits + ">";
}

/// The visible form of the character at `at`; empty if it is shown unchanged. `length` is its
/// number of bytes in the text.
std::string escape_at(std::string_view text, size_t at, size_t& length) {
  length = utf8_sequence_length(text, at);
  if (text[at] == '\r') return "^M";
  if (length < 2) {
    if (length == 1 && is_plain(text[at])) return {};
    length = 1;
    std::string escape = "\\x";
    append_hex(escape, static_cast<uint8_t>(text[at]));
    return escape;
  }
  const uint32_t code = code_point(text.substr(at, length));
  return is_invisible(code) ? code_point_name(code) : std::string();
}

/// Number of bytes at the end of `text` that begin an incomplete character.
size_t unfinished_bytes(std::string_view text) {
  constexpr size_t kMaxSequence = 4;
  for (size_t size = 1; size < kMaxSequence && size <= text.size(); ++size) {
    const auto lead = static_cast<uint8_t>(text[text.size() - size]);
    if ((lead & 0xc0U) == 0x80U) continue;
    const size_t wanted = lead >= 0xf0 ? 4 : (lead >= 0xe0 ? 3 : (lead >= 0xc2 ? 2 : 1));
    return wanted > size ? size : 0;
  }
  return 0;
}

}  // namespace

void append_printable(std::string_view text, bool reverse, std::string& out) {
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    while (end < text.size() && is_plain(text[end])) ++end;
    out += text.substr(at, end - at);
    at = end;
    if (at == text.size()) break;
    size_t length = 0;
    const std::string escape = escape_at(text, at, length);
    if (escape.empty()) {
      out += text.substr(at, length);
    } else {
      if (reverse) out += kReverseOn;
      out += escape;
      if (reverse) out += kReverseOff;
    }
    at += length;
  }
}

std::string printable(std::string_view text) {
  std::string out;
  append_printable(text, false, out);
  return out;
}

std::string printable_line(std::string_view text) {
  return printable_line(text, std::string::npos);
}

std::string printable_line(std::string_view text, size_t max_bytes) {
  const auto is_shown = [](char c) { return is_plain(c) && c != '\n' && c != '\t'; };
  if (text.size() <= max_bytes && std::all_of(text.begin(), text.end(), is_shown)) {
    return std::string(text);
  }
  std::string out;
  for (size_t at = 0; at < text.size();) {
    size_t length = 1;
    std::string piece = text[at] == '\n' ? "\\n" : (text[at] == '\t' ? "\\t" : "");
    if (piece.empty()) piece = escape_at(text, at, length);
    if (piece.empty()) piece = text.substr(at, length);
    if (piece.size() > max_bytes - std::min(max_bytes, out.size())) return out + "…";
    out += piece;
    at += length;
  }
  return out;
}

std::string PrintableStream::feed(std::string_view piece) {
  held_ += piece;
  const size_t whole = held_.size() - unfinished_bytes(held_);
  std::string out;
  append_printable(std::string_view(held_).substr(0, whole), reverse_, out);
  held_.erase(0, whole);
  return out;
}

std::string PrintableStream::finish() {
  std::string out;
  append_printable(held_, reverse_, out);
  held_.clear();
  return out;
}

}  // namespace galley
