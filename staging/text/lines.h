#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace galley {

/// The lines of a text. Every line includes its "\n"; only the last line may lack it.
///
/// Invariant: all lines together are the text, byte for byte. Every line has at least one byte, and
///            an empty text consists of zero lines. As in git, only "\n" ends a line; "\r" is a
///            part of its line.
/// Ownership: borrows the text, which must outlive it. Uses four bytes per line.
/// Threads:   immutable, safe to share.
class Lines {
 public:
  Lines() : starts_{0} {}
  /// Splits `text` at every "\n". It must be shorter than 4 GiB (limits::kMaxFileBytes is less).
  explicit Lines(std::string_view text);

  [[nodiscard]] size_t size() const { return starts_.size() - 1; }
  [[nodiscard]] bool empty() const { return size() == 0; }
  /// Line `index` (0-based) with its terminator.
  [[nodiscard]] std::string_view operator[](size_t index) const {
    return {text_.data() + starts_[index], starts_[index + 1] - starts_[index]};
  }
  /// The bytes of lines [begin, end) as one view.
  [[nodiscard]] std::string_view span(size_t begin, size_t end) const {
    return {text_.data() + starts_[begin], starts_[end] - starts_[begin]};
  }
  /// The offset of line `index` in bytes; for size() the length of the text.
  [[nodiscard]] size_t offset(size_t index) const { return starts_[index]; }
  /// The line that contains the byte at `offset`; size() for the end of the text.
  [[nodiscard]] size_t line_at(size_t offset) const;
  [[nodiscard]] std::string_view text() const { return text_; }
  /// False if the last line lacks its "\n"; true for an empty text.
  [[nodiscard]] bool ends_with_newline() const { return text_.empty() || text_.back() == '\n'; }

 private:
  std::string_view text_;
  std::vector<uint32_t> starts_;  // one element more than lines
};

/// `line` without its "\n" or "\r\n".
[[nodiscard]] std::string_view without_terminator(std::string_view line);

}  // namespace galley
