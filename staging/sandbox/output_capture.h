#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "staging/sandbox/command_runner.h"

namespace galley {

/// Keeps the first and the last bytes of a stream, within a limit, and counts the others.
///
/// Invariant: holds at most the limit plus one piece.
/// Threads:   confined to one thread.
class OutputCapture {
 public:
  explicit OutputCapture(uint64_t limit) : head_limit_(limit - limit / 2), tail_limit_(limit / 2) {}

  /// Takes the next piece and returns how many of its first bytes belong to the head.
  size_t append(std::string_view piece);
  [[nodiscard]] uint64_t head_bytes() const { return head_.size(); }
  [[nodiscard]] CapturedOutput finish() &&;

 private:
  uint64_t head_limit_;
  uint64_t tail_limit_;
  std::string head_;
  std::string tail_;  ///< a ring once it is full; the oldest byte is at tail_start_
  size_t tail_start_ = 0;
  uint64_t omitted_ = 0;
};

}  // namespace galley
