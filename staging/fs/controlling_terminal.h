#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace galley {

/// The terminal that this process is controlled from (/dev/tty), wherever its streams go: what is
/// typed there was typed by a person.
///
/// Ownership: owns the descriptor. Threads: confined to one thread.
/// Errors:    kNotFound `terminal.none` where there is none; kIo.
class ControllingTerminal {
 public:
  static Result<std::unique_ptr<ControllingTerminal>> open();
  virtual ~ControllingTerminal() = default;

  /// Writes text as it is; the caller has escaped what came from elsewhere.
  virtual Result<void> write(std::string_view text) = 0;
  /// Drops what was typed before, writes the question and reads one line of at most
  /// kMaxAnswerBytes; the end of the input is an empty answer.
  virtual Result<std::string> ask(std::string_view question) = 0;
  /// Lines that fit on it; 0 when it does not know.
  [[nodiscard]] virtual size_t rows() const = 0;
  /// Where a pager for it writes to.
  static constexpr const char* kPath = "/dev/tty";
  static constexpr size_t kMaxAnswerBytes = 256;
};

}  // namespace galley
