#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace galley {

/// The lines of a text: every line keeps its "\n", only the last one may lack it.
///
/// Invariant: joining all lines gives the text back, byte for byte; no line is empty; an empty text
///            has no lines. Only "\n" ends a line (git's rule): "\r" is part of its line.
/// Ownership: borrows the text, which must outlive it; takes four bytes per line and copies
///            nothing.
/// Threads:   immutable, safe to share.
class Lines {
 public:
  Lines() : starts_{0} {}
  /// Splits at every "\n"; `text` is shorter than 4 GiB (limits::kMaxFileBytes is below that).
  explicit Lines(std::string_view text);

  [[nodiscard]] size_t size() const { return starts_.size() - 1; }
  [[nodiscard]] bool empty() const { return size() == 0; }
  /// Line `index`, counted from 0, with its terminator.
  [[nodiscard]] std::string_view operator[](size_t index) const {
    return {text_.data() + starts_[index], starts_[index + 1] - starts_[index]};
  }
  /// The bytes of lines [begin, end) in one piece.
  [[nodiscard]] std::string_view span(size_t begin, size_t end) const {
    return {text_.data() + starts_[begin], starts_[end] - starts_[begin]};
  }
  /// The offset of line `index`; `index` may be size(), then it is the length of the text.
  [[nodiscard]] size_t offset(size_t index) const { return starts_[index]; }
  /// The line with the byte at `offset`; size() for the end of the text.
  [[nodiscard]] size_t line_at(size_t offset) const;
  [[nodiscard]] std::string_view text() const { return text_; }
  /// False when the last line lacks its "\n"; true for an empty text.
  [[nodiscard]] bool ends_with_newline() const { return text_.empty() || text_.back() == '\n'; }

 private:
  std::string_view text_;
  std::vector<uint32_t> starts_;  // one more than there are lines
};

/// `line` without its "\n" or "\r\n".
[[nodiscard]] std::string_view without_terminator(std::string_view line);

}  // namespace galley
