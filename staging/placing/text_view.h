#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "staging/text/splice.h"

namespace galley {

/// A text file in a form that edits do not use, viewed as UTF-8 with "\n".
///
/// Supports UTF-16 and UTF-8 with a byte order mark, and lines that end in a lone CR.
///
/// Invariant: `to_raw({})` returns an empty list; bytes outside the splices of the text are outside
///            the raw ones. Files that do not survive a round trip are not viewed.
class TextView {
 public:
  enum class Form : uint8_t { kUtf16LittleEndian, kUtf16BigEndian, kUtf8WithMark, kCrLines };

  [[nodiscard]] static std::optional<TextView> of(std::string_view content);

  [[nodiscard]] Form form() const { return form_; }
  [[nodiscard]] bool is_utf16() const { return form_ <= Form::kUtf16BigEndian; }
  [[nodiscard]] const std::string& text() const { return text_; }
  /// Splices of the text as splices of the raw content; nullopt when new text is not UTF-8.
  [[nodiscard]] std::optional<Splices> to_raw(const Splices& splices) const;

 private:
  TextView() = default;
  static std::optional<TextView> of_utf16(std::string_view content, Form form);
  [[nodiscard]] size_t raw_offset(size_t text_offset) const;

  Form form_ = Form::kUtf8WithMark;
  std::string text_;
  size_t raw_size_ = 0;
  /// UTF-16: (text offset, raw offset) of every 4096th character, ascending.
  struct Milestone {
    size_t text = 0;
    size_t raw = 0;
  };
  std::vector<Milestone> milestones_;
};

/// True when `added` has letters in UTF-8 and `file` is text with letters in another encoding:
/// together they would be unreadable in both. False for UTF-16 and for files that are not text.
[[nodiscard]] bool mixes_encodings(std::string_view file, std::string_view added);

}  // namespace galley
