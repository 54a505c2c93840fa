#pragma once

#include <poll.h>
#include <sys/types.h>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "staging/sandbox/command_runner.h"
#include "staging/sandbox/helper/descriptors.h"

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

/// Passes the input of one of our descriptors on to a command through a pipe. The command never
/// gets the descriptor itself: through it a file could be opened again for writing, a directory be
/// left upwards, a terminal be typed into.
///
/// Invariant: at most one piece is read ahead of what the pipe has room for. A file that can be
///            positioned is set back at the end to the first byte that no command read.
/// Ownership: owns both ends of the pipe; borrows the descriptor.
/// Threads:   confined to one thread.
class InputRelay {
 public:
  /// Errors: kIo when no pipe can be made.
  static Result<std::shared_ptr<InputRelay>> from(int descriptor);
  /// One whose input is what feed() is given: a dialogue with the command.
  /// Errors: kIo when no pipe can be made.
  static Result<std::shared_ptr<InputRelay>> fed();
  ~InputRelay();
  InputRelay(const InputRelay&) = delete;
  InputRelay& operator=(const InputRelay&) = delete;

  /// Returns the end that a command reads from. It stays ours, so that a second attempt to run the
  /// command reads what the first one left.
  [[nodiscard]] int read_end() const { return read_end_.get(); }
  /// Returns what to poll for before advance(): descriptor -1 once the input has ended.
  [[nodiscard]] pollfd wanted() const;
  /// Passes one piece on after poll() has answered. Never blocks.
  void advance(const pollfd& answered);

  /// Only for one that is fed: more input, which is passed on when the pipe has room.
  void feed(std::string_view text) { pending_ += text; }
  /// No more input will come; the command sees its end behind what was fed.
  void end_input();

 private:
  InputRelay(int descriptor, Fd read_end, Fd write_end);
  int descriptor_;  ///< -1: it is fed
  bool has_ended_ = false;
  Fd read_end_;
  Fd write_end_;
  std::string pending_;  ///< read, and not in the pipe yet
  off_t taken_ = 0;      ///< all that was read
};

}  // namespace galley
