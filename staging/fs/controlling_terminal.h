#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace galley {

/// The controlling terminal of this process (/dev/tty), independent of its standard streams. A
/// person typed the input that comes from it.
///
/// Ownership: owns the descriptor. Threads: confined to one thread.
/// Errors:    kNotFound `terminal.none` without a terminal; kIo.
class ControllingTerminal {
 public:
  static Result<std::unique_ptr<ControllingTerminal>> open();
  virtual ~ControllingTerminal() = default;

  /// Writes text unchanged. The caller must escape text from other sources.
  virtual Result<void> write(std::string_view text) = 0;
  /// Discards earlier input, writes the question and reads one line of at most kMaxAnswerBytes.
  /// Returns an empty answer at the end of the input.
  virtual Result<std::string> ask(std::string_view question) = 0;
  /// The height of the terminal in lines; 0 if unknown.
  [[nodiscard]] virtual size_t rows() const = 0;
  /// The terminal's file, for the output of a pager.
  static constexpr const char* kPath = "/dev/tty";
  static constexpr size_t kMaxAnswerBytes = 256;  ///< of one answer
};

}  // namespace galley
