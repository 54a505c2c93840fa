#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace galley {

/// Keys that give a terminal back when they are typed one after another, while the program goes on.
///
/// What could still become the whole of them is held back; as soon as something else is typed, it
/// is passed on as it was. A key counts as the byte that terminals send for it and as the sequence
/// of the kitty keyboard protocol (sw.kovidgoyal.net/kitty/keyboard-protocol).
///
/// Threads: confined to one thread.
class DetachKeys {
 public:
  /// Docker's form: keys with commas between them, each one character or `ctrl-` and one of a-z and
  /// @ [ \ ] ^ _. `none`: there are none.
  /// Errors: kUsage `run.detach_keys`.
  static Result<DetachKeys> parse(std::string_view text);

  DetachKeys() = default;  ///< none

  struct Typed {
    std::string passed;     ///< for the program
    bool detaches = false;  ///< the keys are complete; what was typed behind them is dropped
  };
  [[nodiscard]] Typed take(std::string_view typed);

 private:
  /// One key as it came.
  struct Key {
    std::string bytes;
    int code = -1;            ///< what a plain terminal sends; -1: a key that has no such byte
    bool is_release = false;  ///< told by the kitty protocol, where a program asks for it
  };
  static Key next_key(std::string_view typed);
  [[nodiscard]] bool may_become_ours() const;
  [[nodiscard]] size_t pressed() const;

  std::string keys_;
  std::vector<Key> held_;
};

}  // namespace galley
