#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/clock.h"
#include "base/rel_path.h"
#include "base/result.h"
#include "staging/fs/directory.h"
#include "staging/overlay/overlay.h"
#include "staging/sandbox/command_runner.h"

namespace galley {

/// Returns whether git would ignore a path. The second argument says whether the path is a
/// directory; after the deadline the answer is kTimeout.
using IgnoreRule = std::function<Result<bool>(const RelPath&, bool, const Deadline&)>;

/// How a command's upper layer is read back.
struct AbsorbRules {
  IgnoreRule is_ignored;  ///< empty: nothing is ignored
  bool propose_ignored = false;
  std::vector<RelPath> keep;     ///< directories that persist between runs: left alone
  std::vector<RelPath> deleted;  ///< deleted without a whiteout (the copy level)
  /// When the command was started and when it had ended, by the clock of the file system. A file of
  /// the workspace that was changed in between is not what the command saw. 0: not checked.
  int64_t began_ns = 0;
  int64_t ended_ns = 0;
  Deadline deadline;
  const Clock* clock = nullptr;  ///< null: the deadline is not checked
};

/// What reading back found.
struct AbsorbReport {
  uint64_t staged = 0;
  uint64_t ignored = 0;
  uint64_t protected_paths = 0;
  std::vector<RefusedEffect> refused;  ///< not empty: the overlay is as it was
};

/// Reads the upper layer of a finished command into the overlay: creates, changes, deletes, opaque
/// directories, modes and symbolic links. All of it is staged or, after a refusal, nothing.
///
/// A file that overlayfs copied up and the command did not change is left out. Outputs that git
/// ignores are moved to `scratch`. A file that was changed on disk while the command ran is
/// refused: its base would be taken from contents that the command never saw. Contents are moved
/// into the overlay's store. Costs are linear in the upper layer; a file with several names is
/// hashed once. Errors: kTimeout when the deadline passes; after an Error the overlay is as before.
[[nodiscard]] Result<AbsorbReport> absorb_layer(const WritableDirectory& upper,
                                                const WritableDirectory& scratch, Overlay& overlay,
                                                const AbsorbRules& rules);

}  // namespace galley
