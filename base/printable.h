#pragma once

#include <string>
#include <string_view>

namespace galley {

/// Appends `text` so that every character is visible and none can control a terminal. A control
/// character or a byte that is not UTF-8 becomes `\x1b`, a carriage return `^M`; a C1,
/// bidirectional, zero-width or other invisible character becomes `<U+202E>`. Newline and tab stay.
/// With `reverse`, each replacement is in reverse video.
void append_printable(std::string_view text, bool reverse, std::string& out);

/// Returns the text that append_printable() would append without reverse video.
[[nodiscard]] std::string printable(std::string_view text);

/// Text for one field of one line: a newline becomes `\n` and a tab `\t`, so that no message or
/// name can imitate a line of Galley's own.
[[nodiscard]] std::string printable_line(std::string_view text);

/// As above, but a longer result is cut after at most `max_bytes` and ends with `…`.
[[nodiscard]] std::string printable_line(std::string_view text, size_t max_bytes);

/// Converts text that arrives in pieces to its printable form. A character that is split between
/// two pieces is kept until the rest of it arrives.
///
/// Threads: confined to one thread.
class PrintableStream {
 public:
  explicit PrintableStream(bool reverse = false) : reverse_(reverse) {}
  /// Takes a piece and returns what can be shown so far.
  std::string feed(std::string_view piece);
  /// Returns the rest: the beginning of a character that was never completed.
  std::string finish();

 private:
  bool reverse_;
  std::string held_;
};

}  // namespace galley
