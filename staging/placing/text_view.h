#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "staging/text/splice.h"

namespace galley {

/// A view as UTF-8 with "\n" of a text file in a form that edits do not use.
///
/// Supports UTF-16 and UTF-8 with a byte order mark, and lines that end in a lone CR.
///
/// Invariant: `to_raw({})` returns an empty list. Bytes outside of the splices do not change. A
///            file whose conversion cannot be reversed does not get a view.
class TextView {
 public:
  enum class Form : uint8_t { kUtf16LittleEndian, kUtf16BigEndian, kUtf8WithMark, kCrLines };

  [[nodiscard]] static std::optional<TextView> of(std::string_view content);

  [[nodiscard]] Form form() const { return form_; }
  [[nodiscard]] bool is_utf16() const { return form_ <= Form::kUtf16BigEndian; }
  [[nodiscard]] const std::string& text() const { return text_; }
  /// Converts splices of the text to splices of the raw content; nullopt if new text for UTF-16 is
  /// not UTF-8.
  [[nodiscard]] std::optional<Splices> to_raw(const Splices& splices) const;

 private:
  TextView() = default;
  static std::optional<TextView> of_utf16(std::string_view content, Form form);
  [[nodiscard]] size_t raw_offset(size_t text_offset) const;

  Form form_ = Form::kUtf8WithMark;
  std::string text_;
  size_t raw_size_ = 0;
  /// For UTF-16: the offsets of every 4096th character in the text and in the raw content,
  /// ascending.
  struct Milestone {
    size_t text = 0;
    size_t raw = 0;
  };
  std::vector<Milestone> milestones_;
};

/// The text of UTF-16 units as UTF-8, for searching only: half of a pair of units becomes U+FFFD,
/// and an odd last byte is left out.
[[nodiscard]] std::string readable_utf16(std::string_view units, bool is_big);

/// True for text with letters in another encoding than UTF-8, also in ISO-2022-JP. A few bad bytes
/// among letters in UTF-8 are damage.
[[nodiscard]] bool has_other_encoding(std::string_view file);
/// True if the byte at `at` may belong to a letter of such a file that begins before it. In
/// Shift_JIS, GBK and Big5, the second byte of a letter may be an ASCII letter or a backslash.
[[nodiscard]] bool may_be_in_letter(std::string_view file, size_t at);

/// True if `added` is text that has other bytes in the encoding of `file`: letters in UTF-8 for a
/// text with letters in another encoding, anything for UTF-32 or UTF-16 without a byte order mark.
/// The result would be unreadable in both encodings. False for files that are not text.
[[nodiscard]] bool mixes_encodings(std::string_view file, std::string_view added);

}  // namespace galley
