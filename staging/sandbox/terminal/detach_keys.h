#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace galley {

/// Keys that detach from a terminal when they are typed one after another; the program runs on.
///
/// Keys that may be the beginning of the sequence are held back. When another key follows, they are
/// passed on unchanged. A key is recognized both as the byte that terminals send and as the
/// sequence of the kitty keyboard protocol (sw.kovidgoyal.net/kitty/keyboard-protocol).
///
/// Threads: confined to one thread.
class DetachKeys {
 public:
  /// Docker's form: keys separated by commas, each one character or `ctrl-` and one of a-z and
  /// @ [ \ ] ^ _. `none` disables them.
  /// Errors: kUsage `run.detach_keys`.
  static Result<DetachKeys> parse(std::string_view text);

  DetachKeys() = default;  ///< none

  struct Typed {
    std::string passed;     ///< for the program
    bool detaches = false;  ///< the keys are complete; later input is dropped
  };
  [[nodiscard]] Typed take(std::string_view typed);

 private:
  /// One key as it was received.
  struct Key {
    std::string bytes;
    int code = -1;            ///< the byte of a plain terminal; -1: a key without one
    bool is_release = false;  ///< reported by the kitty protocol, if a program asks for it
  };
  static Key next_key(std::string_view typed);
  [[nodiscard]] bool may_become_ours() const;
  [[nodiscard]] size_t pressed() const;

  std::string keys_;
  std::vector<Key> held_;
};

}  // namespace galley
