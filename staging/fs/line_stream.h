#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace galley {

/// Lines that a peer writes into a descriptor that was open already, such as standard input.
///
/// A line that is longer than it may be is skipped while it comes: what is held of it is bounded.
///
/// Ownership: borrows the descriptor. Threads: used by one at a time.
/// Errors:    kIo.
class LineReader {
 public:
  LineReader(int descriptor, size_t max_bytes) : descriptor_(descriptor), max_bytes_(max_bytes) {}

  struct Line {
    std::string text;  ///< without its end; empty for one that was too long
    bool is_too_long = false;
  };
  /// The next line; nothing at the end of the input. A last line without an end counts.
  Result<std::optional<Line>> next();
  /// Whether the next one is there already, so that next() does not wait.
  [[nodiscard]] bool has_next() const { return pending_.find('\n', searched_) != pending_.npos; }

 private:
  static constexpr size_t kReadBytes = size_t{64} << 10U;

  int descriptor_;
  size_t max_bytes_;
  std::vector<char> piece_ = std::vector<char>(kReadBytes);  ///< what is read next
  std::string pending_;
  size_t searched_ = 0;  ///< no line end in so many bytes of `pending_`
  bool skips_ = false;
  bool is_at_end_ = false;
};

/// Writes a line and its end.
/// Errors: kTimeout `stream.slow` when the reader takes nothing until the deadline; kIo, with EPIPE
///         when there is none.
Result<void> write_line(int descriptor, std::string_view line, const Deadline& deadline,
                        const Clock& clock);

}  // namespace galley
