#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace galley {

/// The controlling terminal of this process (/dev/tty), independent of its standard streams: input
/// from it was typed by a person.
///
/// Ownership: owns the descriptor. Threads: confined to one thread.
/// Errors:    kNotFound `terminal.none` without a terminal; kIo.
class ControllingTerminal {
 public:
  static Result<std::unique_ptr<ControllingTerminal>> open();
  virtual ~ControllingTerminal() = default;

  /// Writes text unchanged; the caller has escaped text from other sources.
  virtual Result<void> write(std::string_view text) = 0;
  /// Discards earlier input, writes the question and reads one line of at most kMaxAnswerBytes; the
  /// end of the input is an empty answer.
  virtual Result<std::string> ask(std::string_view question) = 0;
  /// Lines of the terminal; 0 when unknown.
  [[nodiscard]] virtual size_t rows() const = 0;
  /// The output file for a pager.
  static constexpr const char* kPath = "/dev/tty";
  static constexpr size_t kMaxAnswerBytes = 256;  ///< an answer that a person types
};

}  // namespace galley
