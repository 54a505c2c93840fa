#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace galley {

/// Reads lines from a descriptor that was already open, such as standard input.
///
/// A line that is too long is skipped while it arrives, so memory use is bounded.
///
/// Ownership: borrows the descriptor. Threads: used by one thread at a time.
/// Errors:    kIo.
class LineReader {
 public:
  LineReader(int descriptor, size_t max_bytes) : descriptor_(descriptor), max_bytes_(max_bytes) {}

  struct Line {
    std::string text;  ///< without its line end; empty if it was too long
    bool is_too_long = false;
  };
  /// The next line; nothing at the end of the input. The last line may lack a line end.
  Result<std::optional<Line>> next();
  /// Whether the next line has arrived, so that next() does not wait.
  [[nodiscard]] bool has_next() const { return pending_.find('\n', searched_) != pending_.npos; }

 private:
  static constexpr size_t kReadBytes = size_t{64} << 10U;

  int descriptor_;
  size_t max_bytes_;
  std::vector<char> piece_ = std::vector<char>(kReadBytes);  ///< buffer for the next read
  std::string pending_;
  size_t searched_ = 0;  ///< the first bytes of `pending_` that contain no line end
  bool skips_ = false;
  bool is_at_end_ = false;
};

/// Writes a line and its line end.
/// Errors: kTimeout `stream.slow` when the reader accepts nothing until the deadline; kIo, with
///         EPIPE without a reader.
Result<void> write_line(int descriptor, std::string_view line, const Deadline& deadline,
                        const Clock& clock);

}  // namespace galley
