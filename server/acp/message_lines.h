#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace galley {

/// Cuts a stream of bytes that arrives in pieces into lines.
///
/// Memory use is bounded: a line that is too long is skipped while it arrives, except for its
/// beginning.
/// Threads: confined to one thread.
class MessageLines {
 public:
  explicit MessageLines(size_t max_bytes) : max_bytes_(max_bytes) {}

  struct Line {
    std::string text;  ///< without its line end; only the beginning if it was too long
    bool is_too_long = false;
  };
  void feed(std::string_view bytes);
  /// The next complete line.
  std::optional<Line> next();

 private:
  size_t max_bytes_;
  std::string pending_;
  size_t begin_ = 0;     ///< of the next line in `pending_`
  size_t searched_ = 0;  ///< no line end before it
  bool skips_ = false;
  std::string beginning_;  ///< of the line that is skipped
};

}  // namespace galley
