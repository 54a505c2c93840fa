#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "staging/fs/directory.h"

namespace galley {

/// One call of the Directory or File interface.
struct FaultCall {
  std::string name;      ///< `rename`, `write_at`, ...
  std::string path;      ///< relative to the directory of the call; "" for an open file
  bool mutates = false;  ///< changes what a later read, or a power loss, can see

  [[nodiscard]] bool is_sync() const { return name.starts_with("sync"); }
};

/// Which calls fail, and how. Every Directory and File opened from one wrapper shares the plan.
///
/// Threads: confined to one thread.
struct FaultPlan {
  /// The number of the call that fails, counted from 1; 0: none.
  size_t at = 0;
  /// Runs just before that call, for example to change a file or to send SIGKILL.
  std::function<void()> before;
  /// errno of the failing call. With 0 the call succeeds.
  int os_error = 0;
  /// All later calls for which `affects` is true fail, too.
  bool is_lasting = false;
  /// A failing write_at writes the first half of its bytes first.
  bool writes_half = false;
  /// That call and all later calls fail and have no effect, as if the process were dead.
  bool kills = false;
  /// The calls that can fail with an errno; empty: all.
  std::function<bool(const FaultCall&)> affects;
  /// Whether the file system supports RENAME_EXCHANGE, and RENAME_NOREPLACE.
  bool has_exchange = true;
  bool has_no_replace = true;

  // The results:
  std::vector<FaultCall> calls;
  bool is_dead = false;
  bool has_failed = false;
};

/// Wraps a directory of any implementation. Counts and logs every call, and makes the planned calls
/// fail.
///
/// Ownership: owns `inner`; shares the plan with everything opened from it.
[[nodiscard]] std::unique_ptr<WritableDirectory> make_fault_directory(
    std::unique_ptr<WritableDirectory> inner, std::shared_ptr<FaultPlan> plan);

}  // namespace galley
