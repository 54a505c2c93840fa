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

  /// Appends the next piece; returns how many of its first bytes belong to the head.
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

/// Relays the input of a descriptor of this process to a command, through a pipe. The command never
/// gets the descriptor itself: through it, the command could reopen a file for writing, leave a
/// directory through `..`, or type into a terminal.
///
/// Invariant: at most one piece is read ahead of the room in the pipe. The destructor positions a
///            seekable file at the first byte that no command has read.
/// Ownership: owns both ends of the pipe; borrows the descriptor.
/// Threads:   confined to one thread.
class InputRelay {
 public:
  /// Errors: kIo when a pipe cannot be made.
  static Result<std::shared_ptr<InputRelay>> from(int descriptor);
  /// A relay whose input comes from feed(): a dialogue with the command.
  /// Errors: kIo when a pipe cannot be made.
  static Result<std::shared_ptr<InputRelay>> fed();
  ~InputRelay();
  InputRelay(const InputRelay&) = delete;
  InputRelay& operator=(const InputRelay&) = delete;

  /// Returns the end that a command reads from. This process keeps it open, so that a second
  /// attempt to run the command reads what the first one left.
  [[nodiscard]] int read_end() const { return read_end_.get(); }
  /// Returns the events to poll for before advance(): descriptor -1 once the input has ended.
  [[nodiscard]] pollfd wanted() const;
  /// Relays one piece after poll() has returned. Never blocks.
  void advance(const pollfd& answered);

  /// Adds input, which is relayed when the pipe has room. Only for fed().
  void feed(std::string_view text) { pending_ += text; }
  /// Ends the input; the command sees its end after all that was fed.
  void end_input();

 private:
  InputRelay(int descriptor, Fd read_end, Fd write_end);
  int descriptor_;  ///< -1: its input comes from feed()
  bool has_ended_ = false;
  Fd read_end_;
  Fd write_end_;
  std::string pending_;  ///< read, but not yet in the pipe
  off_t taken_ = 0;      ///< all bytes read
};

}  // namespace galley
