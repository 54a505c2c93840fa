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
  std::string path;      ///< relative to the directory of the call; "" for an open file
  bool mutates = false;  ///< changes what a later read, or a power cut, can see

  [[nodiscard]] bool is_sync() const { return name.starts_with("sync"); }
};

/// Which calls fail, and how; shared by every Directory and File below one wrapper.
///
/// Threads: confined to one thread.
struct FaultPlan {
  /// The number of the call, from 1, that fails; 0: none.
  size_t at = 0;
  /// Called just before that call: a foreign save, a SIGKILL.
  std::function<void()> before;
  /// errno of the failing call; 0 lets it succeed.
  int os_error = 0;
  /// Every later call for which `affects` is true fails, too.
  bool is_lasting = false;
  /// A failing write_at writes the first half of its bytes first.
  bool writes_half = false;
  /// From that call on no call has an effect and every call fails, as if the process were dead.
  bool kills = false;
  /// Which calls can fail with an errno; empty: all.
  std::function<bool(const FaultCall&)> affects;
  /// Whether the file system supports RENAME_EXCHANGE, and RENAME_NOREPLACE.
  bool has_exchange = true;
  bool has_no_replace = true;

  // The results:
  std::vector<FaultCall> calls;
  bool is_dead = false;
  bool has_failed = false;
};

/// Wraps a directory of any implementation: counts and logs every call, and makes those of the plan
/// fail.
///
/// Ownership: owns `inner`; shares the plan with everything opened from it.
[[nodiscard]] std::unique_ptr<WritableDirectory> make_fault_directory(
    std::unique_ptr<WritableDirectory> inner, std::shared_ptr<FaultPlan> plan);

}  // namespace galley
