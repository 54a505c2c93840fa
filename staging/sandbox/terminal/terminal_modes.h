#pragma once

#include <set>
#include <string>
#include <string_view>

namespace galley {

/// The modes that a program has switched on in a terminal, derived from its output: another screen,
/// mouse and keyboard reports, a hidden cursor. They must be reset when the terminal is taken back.
///
/// The sequences are those of xterm (ctlseqs) and of the kitty keyboard protocol.
/// Threads: confined to one thread.
class TerminalModes {
 public:
  void see(std::string_view output);
  /// The sequences that switch all of them off; empty when none is on.
  [[nodiscard]] std::string restore() const;

 private:
  void take(std::string_view body, char last);

  std::string sequence_;   ///< begun, but not complete
  std::set<int> changed_;  ///< private modes that differ from a shell's expectation
  int keyboards_ = 0;      ///< keyboard modes that were pushed
};

}  // namespace galley
