#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace galley {

/// Reads lines from an open descriptor, such as standard input.
///
/// Memory use is bounded: the middle of a line that is too long is skipped while it arrives.
///
/// Ownership: borrows the descriptor. Threads: used by one thread at a time.
/// Errors:    kIo.
class LineReader {
 public:
  LineReader(int descriptor, size_t max_bytes) : descriptor_(descriptor), max_bytes_(max_bytes) {}

  struct Line {
    std::string text;  ///< without its line end; the beginning of one that is too long
    bool is_too_long = false;
    std::string end;  ///< of a line that is too long
  };
  /// Waits for the next line and returns it; nothing at the end of the input. The last line may
  /// lack a line end.
  Result<std::optional<Line>> next();
  /// Whether a complete line has been read, so that next() does not wait.
  [[nodiscard]] bool has_next() const { return pending_.find('\n', searched_) != pending_.npos; }

 private:
  static constexpr size_t kReadBytes = size_t{64} << 10U;
  static constexpr size_t kKeptBytes = 4096;  ///< of each end of a line that is too long

  void skip(size_t bytes);
  Line take(size_t end);

  int descriptor_;
  size_t max_bytes_;
  std::vector<char> piece_ = std::vector<char>(kReadBytes);  ///< buffer for the next read
  std::string pending_;
  size_t searched_ = 0;  ///< bytes at the start of `pending_` without a line end
  bool skips_ = false;
  Line long_;  ///< what is kept of the line that is skipped
  bool is_at_end_ = false;
};

/// Writes a line and a line end.
/// Errors: kTimeout `stream.slow` if the reader does not accept all bytes in time; kIo, with EPIPE
///         if nothing reads.
Result<void> write_line(int descriptor, std::string_view line, const Deadline& deadline,
                        const Clock& clock);

}  // namespace galley
