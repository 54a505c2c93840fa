#include "tools/output_sanitizer.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "tools/redactor.h"

namespace galley {
namespace {

using nlohmann::ordered_json;

constexpr char kEscape = '\x1b';
constexpr char kBell = '\x07';

bool is_control(char c) {
  const auto byte = static_cast<uint8_t>(c);
  return (byte < ' ' && c != '\n' && c != '\t') || c == '\x7f';
}

/// The end of the escape sequence that begins at `at` (ECMA-48): the final byte of a CSI, the
/// terminator of an OSC or another string.
size_t end_of_escape(std::string_view text, size_t at) {
  const size_t next = at + 1;
  if (next >= text.size()) return text.size();
  const char kind = text[next];
  if (kind == '[') {
    size_t end = next + 1;
    while (end < text.size() && (text[end] < '@' || text[end] > '~')) ++end;
    return std::min(end + 1, text.size());
  }
  if (kind == ']' || kind == 'P' || kind == '^' || kind == '_' || kind == 'X') {
    for (size_t end = next + 1; end < text.size(); ++end) {
      if (text[end] == kBell) return end + 1;
      if (text[end] == kEscape) return std::min(end + 2, text.size());
      if (text[end] == '\n') return end;  // unterminated: the rest is text
    }
    return text.size();
  }
  return next + 1;
}

/// U+0080 to U+009F, and the characters that change the direction of text (U+202A to U+202E, U+2066
/// to U+2069).
bool is_hidden_control(std::string_view sequence) {
  if (sequence.size() == 2)
    return sequence[0] == '\xc2' && static_cast<uint8_t>(sequence[1]) < 0xa0;
  if (sequence.size() != 3 || sequence[0] != '\xe2') return false;
  const auto last = static_cast<uint8_t>(sequence[2]);
  if (sequence[1] == '\x80') return last >= 0xaa && last <= 0xae;
  return sequence[1] == '\x81' && last >= 0xa6 && last <= 0xa9;
}

std::string without_controls(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    if (text[at] == kEscape) {
      at = end_of_escape(text, at);
      continue;
    }
    const size_t length = utf8_sequence_length(text, at);
    const std::string_view sequence = text.substr(at, std::max<size_t>(1, length));
    if (length == 0) {
      out += "\xef\xbf\xbd";
    } else if (!is_hidden_control(sequence) && !is_control(text[at])) {
      out += sequence;
    }
    at += sequence.size();
  }
  return out;
}

struct Cleaner {
  const TextSanitizer& clean;
  size_t bytes = 0;

  std::string text(const std::string& raw) {
    std::string cleaned = clean(raw);
    bytes += cleaned.size();
    return cleaned;
  }
  ordered_json document(const ordered_json& raw) {
    if (raw.is_string()) return text(raw.get_ref<const std::string&>());
    if (raw.is_array()) {
      ordered_json out = ordered_json::array();
      for (const auto& item : raw) out.push_back(document(item));
      return out;
    }
    if (!raw.is_object()) return raw;
    ordered_json out = ordered_json::object();
    for (const auto& [key, value] : raw.items()) out[text(key)] = document(value);
    return out;
  }
};

}  // namespace

std::string sanitized_text(std::string_view text) {
  std::string out = redact_patterns(without_controls(text));
  if (out.size() <= kMaxSanitizedTextBytes) return out;
  size_t end = kMaxSanitizedTextBytes;
  while (end > 0 && (static_cast<uint8_t>(out[end]) & 0xc0U) == 0x80U) --end;
  const size_t left = out.size() - end;
  out.resize(end);
  return out + "\n[" + std::to_string(left) + " more bytes were left out]";
}

Result<ordered_json> sanitized_answer(const ordered_json& answer, const TextSanitizer& clean) {
  Cleaner cleaner{clean};
  ordered_json cleaned = cleaner.document(answer);
  if (cleaner.bytes <= kMaxSanitizedAnswerBytes) return cleaned;
  return fail(ErrorKind::kQuota, "limit.answer_bytes",
              "the answer has more than " + std::to_string(kMaxSanitizedAnswerBytes) +
                  " bytes of text; ask for less at once");
}

bool needs_sanitizer(ToolInfo::Category category) {
  return category == ToolInfo::Category::kApi || category == ToolInfo::Category::kMcp;
}

}  // namespace galley
