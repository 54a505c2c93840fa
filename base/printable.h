#pragma once

#include <string>
#include <string_view>

namespace galley {

/// Appends `text` so that a reader sees every character of it and none of them drives a terminal:
/// a control character or a byte that is not UTF-8 as `\x1b`, a carriage return as `^M`, a C1,
/// bidirectional, zero-width or other invisible character as `<U+202E>`. Newline and tab stay.
/// With `reverse` each of these stands in reverse video.
void append_printable(std::string_view text, bool reverse, std::string& out);

/// The same as a value, without reverse video.
[[nodiscard]] std::string printable(std::string_view text);

/// Text for one field of one line: a newline is `\n` and a tab `\t` there, so that no message and
/// no name can look like a line of ours.
[[nodiscard]] std::string printable_line(std::string_view text);

/// As printable_line, cut with `…` after `max_bytes`.
[[nodiscard]] std::string printable_line(std::string_view text, size_t max_bytes);

/// Makes a stream printable that arrives in pieces: a character that is cut in two is held back
/// until the rest of it comes.
///
/// Threads: confined to one thread.
class PrintableStream {
 public:
  explicit PrintableStream(bool reverse = false) : reverse_(reverse) {}
  /// Takes a piece and returns what can be shown so far.
  std::string feed(std::string_view piece);
  /// What was held back: the beginning of a character that never ended.
  std::string finish();

 private:
  bool reverse_;
  std::string held_;
};

}  // namespace galley
