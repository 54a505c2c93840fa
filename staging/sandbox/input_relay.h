#pragma once

#include <poll.h>
#include <sys/types.h>

#include <memory>
#include <string>

#include "base/result.h"
#include "staging/sandbox/helper/fd.h"

namespace galley {

/// Hands what one of our descriptors gives on to a command, through a pipe. The command never gets
/// the descriptor itself: a file could be opened again for writing through it, a directory be left
/// upwards, a terminal be typed into.
///
/// Invariant: nothing is read that the pipe has no room for but one piece; of a file that can be
///            positioned, what no command read is given back at the end.
/// Ownership: owns both ends of the pipe; borrows the descriptor.
/// Threads:   confined to one thread.
class InputRelay {
 public:
  /// Errors: kIo when no pipe can be made.
  static Result<std::shared_ptr<InputRelay>> from(int descriptor);
  ~InputRelay();
  InputRelay(const InputRelay&) = delete;
  InputRelay& operator=(const InputRelay&) = delete;

  /// What a command reads from; it stays ours, so that a second try finds what the first left.
  [[nodiscard]] int read_end() const { return read_end_.get(); }
  /// What has to be waited for before advance(): nothing (-1) once the input has ended.
  [[nodiscard]] pollfd wanted() const;
  /// Moves one piece on after poll() has answered; never waits.
  void advance(const pollfd& answered);

 private:
  InputRelay(int descriptor, Fd read_end, Fd write_end);
  int descriptor_;
  Fd read_end_;
  Fd write_end_;
  std::string pending_;  ///< read, and not in the pipe yet
  off_t taken_ = 0;      ///< all that was read
};

}  // namespace galley
