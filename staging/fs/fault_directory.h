#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "staging/fs/directory.h"

namespace galley {

/// One call through the seam.
struct FaultCall {
  std::string name;      ///< `rename`, `write_at`, ...
  std::string path;      ///< relative to the directory it was made on; "" for an open file
  bool mutates = false;  ///< changes what a later look, or a power cut, can see

  [[nodiscard]] bool is_sync() const { return name.starts_with("sync"); }
};

/// What goes wrong, and when; shared by every Directory and File below one wrapper.
///
/// Threads: confined to one thread.
struct FaultPlan {
  /// The number of the call, from 1, at which it happens; 0 is never.
  size_t at = 0;
  /// Called right before that call: a foreign save, a SIGKILL.
  std::function<void()> before;
  /// errno that the call fails with; 0 lets it through.
  int os_error = 0;
  /// Every later call that `affects` fails too.
  bool is_lasting = false;
  /// A failing write_at puts the first half of its bytes first.
  bool writes_half = false;
  /// From that call on nothing has any effect and everything fails: the process is dead.
  bool kills = false;
  /// Which calls an errno can come from; all when empty.
  std::function<bool(const FaultCall&)> affects;
  /// The file system knows no RENAME_EXCHANGE, or neither flag.
  bool has_exchange = true;
  bool has_no_replace = true;

  // What happened:
  std::vector<FaultCall> calls;
  bool is_dead = false;
  bool has_failed = false;
};

/// Wraps a directory of any implementation: counts and logs every call, and lets the plan spoil it.
///
/// Ownership: owns `inner`; shares the plan with everything opened from it.
[[nodiscard]] std::unique_ptr<WritableDirectory> make_fault_directory(
    std::unique_ptr<WritableDirectory> inner, std::shared_ptr<FaultPlan> plan);

}  // namespace galley
