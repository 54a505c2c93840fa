#include "staging/placing/text_view.h"

#include <algorithm>

#include "base/result.h"
#include "base/text.h"

namespace galley {
namespace {

constexpr std::string_view kUtf8Mark = "\xEF\xBB\xBF";
constexpr size_t kStride = 4096;

bool is_high(char c) { return static_cast<unsigned char>(c) >= 0x80; }

uint32_t unit_at(std::string_view raw, size_t at, bool is_big) {
  const auto first = static_cast<unsigned char>(raw[at]);
  const auto second = static_cast<unsigned char>(raw[at + 1]);
  return is_big ? first << 8U | second : second << 8U | first;
}

void append_unit(uint32_t unit, bool is_big, std::string& out) {
  const auto high = static_cast<char>(unit >> 8U);
  const auto low = static_cast<char>(unit & 0xffU);
  out.push_back(is_big ? high : low);
  out.push_back(is_big ? low : high);
}

void append_utf8(uint32_t code, std::string& out) {
  const auto push = [&out](uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (code < 0x80) {
    push(code);
  } else if (code < 0x800) {
    push(0xC0U | code >> 6U);
    push(0x80U | (code & 0x3FU));
  } else if (code < 0x10000) {
    push(0xE0U | code >> 12U);
    push(0x80U | (code >> 6U & 0x3FU));
    push(0x80U | (code & 0x3FU));
  } else {
    push(0xF0U | code >> 18U);
    push(0x80U | (code >> 12U & 0x3FU));
    push(0x80U | (code >> 6U & 0x3FU));
    push(0x80U | (code & 0x3FU));
  }
}

struct Decoded {
  uint32_t code = 0;
  size_t length = 0;  ///< bytes read; 0 for a malformed sequence
};

Decoded decode_utf8(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC2 ? 2 : 0;
  if (length == 0 || lead > 0xF4 || text.size() < length) return {};
  uint32_t code = lead & (0xFFU >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80) return {};
    code = code << 6U | (byte(i) & 0x3FU);
  }
  const uint32_t least = length == 2 ? 0x80 : length == 3 ? 0x800 : 0x10000;
  if (code < least || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) return {};
  return {code, length};
}

/// Decodes the character at `at` in UTF-16.
Decoded decode_utf16(std::string_view raw, size_t at, bool is_big) {
  const uint32_t unit = unit_at(raw, at, is_big);
  if (unit < 0xD800 || unit >= 0xE000) return {unit, 2};
  if (unit >= 0xDC00 || raw.size() - at < 4) return {};
  const uint32_t low = unit_at(raw, at + 2, is_big);
  if (low < 0xDC00 || low >= 0xE000) return {};
  return {0x10000 + ((unit - 0xD800) << 10U) + (low - 0xDC00), 4};
}

/// True if `file` is text in units of `size` bytes. Text has no control characters except for
/// blanks and line ends, and most bytes like a line end are one.
bool is_text_of_units(std::string_view file, size_t size, bool is_big) {
  if (file.size() % size != 0) return false;
  int64_t line_ends = 0;
  for (size_t at = 0; at < file.size(); at += size) {
    uint32_t code = 0;
    for (size_t i = 0; i < size; ++i) {
      code = code << 8U | static_cast<unsigned char>(file[at + (is_big ? i : size - 1 - i)]);
    }
    const bool is_control = code < ' ' && (code < '\t' || code > '\r');
    if (is_control || code > 0x10FFFF || code == 0xFFFE || code == 0xFFFF) return false;
    line_ends += code == '\n' ? 1 : 0;
  }
  return 2 * line_ends >= std::count(file.begin(), file.end(), '\n');
}

/// True if `file` is UTF-32, or UTF-16 without a byte order mark. It has no TextView of its text.
bool is_wide_text(std::string_view file) {
  if (file.find('\0') == std::string_view::npos) return false;
  const bool has_mark = file.starts_with("\xFF\xFE") || file.starts_with("\xFE\xFF");
  return is_text_of_units(file, 4, false) || is_text_of_units(file, 4, true) ||
         (!has_mark && (is_text_of_units(file, 2, false) || is_text_of_units(file, 2, true)));
}

std::optional<std::string> to_utf16(std::string_view text, bool is_big) {
  std::string out;
  while (!text.empty()) {
    const Decoded next = decode_utf8(text);
    if (next.length == 0) return std::nullopt;
    if (next.code < 0x10000) {
      append_unit(next.code, is_big, out);
    } else {
      append_unit(0xD800 + ((next.code - 0x10000) >> 10U), is_big, out);
      append_unit(0xDC00 + ((next.code - 0x10000) & 0x3FFU), is_big, out);
    }
    text.remove_prefix(next.length);
  }
  return out;
}

}  // namespace

std::optional<TextView> TextView::of_utf16(std::string_view content, Form form) {
  const bool is_big = form == Form::kUtf16BigEndian;
  if (content.size() % 2 != 0) return std::nullopt;
  TextView view;
  view.form_ = form;
  view.raw_size_ = content.size();
  size_t count = 0;
  for (size_t at = 2; at < content.size(); ++count) {
    if (count % kStride == 0) view.milestones_.push_back({view.text_.size(), at});
    const Decoded next = decode_utf16(content, at, is_big);
    if (next.length == 0) return std::nullopt;
    append_utf8(next.code, view.text_);
    at += next.length;
  }
  return view;
}

std::optional<TextView> TextView::of(std::string_view content) {
  // Text of an 8-bit encoding may begin with these bytes, too.
  const bool is_big = content.starts_with("\xFE\xFF");
  const bool has_mark = is_big || content.starts_with("\xFF\xFE");
  if (has_mark && is_text_of_units(content.substr(2), 2, is_big)) {
    return of_utf16(content, is_big ? Form::kUtf16BigEndian : Form::kUtf16LittleEndian);
  }
  TextView view;
  view.raw_size_ = content.size();
  if (content.starts_with(kUtf8Mark)) {
    view.form_ = Form::kUtf8WithMark;
    view.text_ = content.substr(kUtf8Mark.size());
    return view;
  }
  const bool has_cr_lines =
      content.find('\n') == std::string_view::npos && content.find('\r') != std::string_view::npos;
  if (!has_cr_lines) return std::nullopt;
  view.form_ = Form::kCrLines;
  view.text_ = content;
  std::replace(view.text_.begin(), view.text_.end(), '\r', '\n');
  return view;
}

size_t TextView::raw_offset(size_t text_offset) const {
  if (form_ == Form::kUtf8WithMark) return text_offset + kUtf8Mark.size();
  if (form_ == Form::kCrLines) return text_offset;
  if (text_offset == text_.size()) return raw_size_;
  auto mark = std::upper_bound(milestones_.begin(), milestones_.end(), text_offset,
                               [](size_t at, const Milestone& m) { return at < m.text; });
  GALLEY_CHECK(mark != milestones_.begin());
  --mark;
  size_t raw = mark->raw;
  for (size_t at = mark->text; at < text_offset;) {
    const Decoded next = decode_utf8(std::string_view(text_).substr(at));
    at += next.length;
    raw += next.code < 0x10000 ? 2 : 4;
  }
  return raw;
}

std::optional<Splices> TextView::to_raw(const Splices& splices) const {
  std::vector<Splice> out;
  for (const Splice& splice : splices.all()) {
    const size_t begin = raw_offset(splice.offset);
    const size_t end = raw_offset(splice.end());
    std::string text = splice.text;
    if (is_utf16()) {
      auto encoded = to_utf16(text, form_ == Form::kUtf16BigEndian);
      if (!encoded) return std::nullopt;
      text = std::move(*encoded);
    } else if (form_ == Form::kCrLines) {
      std::replace(text.begin(), text.end(), '\n', '\r');
    }
    out.push_back({begin, end - begin, std::move(text)});
  }
  auto raw = Splices::from(raw_size_, std::move(out));
  GALLEY_CHECK(raw.has_value());
  return std::move(*raw);
}

std::string readable_utf16(std::string_view units, bool is_big) {
  constexpr uint32_t kReplacement = 0xFFFD;
  std::string text;
  for (size_t at = 0; units.size() - at >= 2;) {
    const Decoded next = decode_utf16(units, at, is_big);
    append_utf8(next.length == 0 ? kReplacement : next.code, text);
    at += next.length == 0 ? 2 : next.length;
  }
  return text;
}

bool may_be_in_letter(std::string_view file, size_t at) {
  if (at == 0 || at >= file.size()) return false;
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(file[i]); };
  if (byte(at - 1) >= 0x80) return byte(at) >= 0x40 && byte(at) < 0x7F;
  constexpr size_t kSequence = 3;     // ESC $ B and ESC ( B
  constexpr size_t kSearched = 4096;  // bytes of the line before the byte
  const size_t begin = at - std::min(at, kSearched);
  const std::string_view before = file.substr(begin, at - begin);
  const size_t escape = before.find_last_of("\x1B\n");
  if (escape == std::string_view::npos || before[escape] == '\n') return false;
  return before.size() - escape < kSequence || before[escape + 1] == '$';
}

bool has_other_encoding(std::string_view file) {
  const bool is_iso_2022 = file.find("\x1B$B") != std::string_view::npos ||
                           file.find("\x1B$@") != std::string_view::npos;
  if (is_iso_2022 && std::none_of(file.begin(), file.end(), is_high)) return true;
  if (is_utf8(file) || file.find('\0') != std::string_view::npos) return false;
  // A few bad bytes among letters in UTF-8 are damage, not another encoding.
  const auto letters = static_cast<size_t>(std::count_if(file.begin(), file.end(), is_high));
  size_t bad = 0;
  for (std::string_view rest = file; !rest.empty(); ++bad) {
    const auto at = first_invalid_utf8(rest);
    if (!at) break;
    rest.remove_prefix(*at + 1);
  }
  constexpr size_t kDamage = 10;
  return bad * kDamage > letters;
}

bool mixes_encodings(std::string_view file, std::string_view added) {
  if (is_wide_text(file)) return true;
  const bool is_other = std::any_of(added.begin(), added.end(), is_high) && is_utf8(added);
  return is_other && has_other_encoding(file);
}

}  // namespace galley
