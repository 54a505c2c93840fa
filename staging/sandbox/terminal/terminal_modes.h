#pragma once

#include <set>
#include <string>
#include <string_view>

namespace galley {

/// What a program has switched on in a terminal, told from what it wrote: another screen, reports
/// of the mouse and of the keyboard, a hidden cursor. For whoever takes the terminal from it.
///
/// The sequences are those of xterm (ctlseqs) and of the kitty keyboard protocol.
/// Threads: confined to one thread.
class TerminalModes {
 public:
  void see(std::string_view output);
  /// What switches all of it off again; empty when nothing is on.
  [[nodiscard]] std::string restore() const;

 private:
  void take(std::string_view body, char last);

  std::string sequence_;   ///< that has begun and is not complete
  std::set<int> changed_;  ///< private modes that are not as a shell expects them
  int keyboards_ = 0;      ///< keyboard modes that were pushed
};

}  // namespace galley
