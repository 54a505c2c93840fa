#pragma once

#include <memory>

#include "base/result.h"
#include "engine/pipeline/workspace_state.h"
#include "engine/stages/run_folder.h"
#include "staging/overlay/overlay.h"
#include "staging/sandbox/absorb.h"

namespace galley {

/// What a run has written so far, as changes of its transaction.
struct RunCapture {
  Overlay::Entries entries;  ///< of every path that it changed, none else
  AbsorbReport report;       ///< with `refused` not empty there are no entries
};

/// Reads the upper layer of a run into changes whose bases are what the run saw when it first wrote
/// each path:
///
///     at its last checkpoint, or staged when it began    that (engine/stages/run_basis.h)
///     changed by a transaction committed since it began  the pre-image in the first such one
///     otherwise                                          what is on disk
///
/// A copy that was made to pin the view, or a whiteout, is equal to its base and no change. So
/// captures do not build on each other: one takes the place of the one before.
///
/// With `is_live` the program runs on and nothing of its layer is touched; without, it is dead, and
/// what git ignores is moved to where the next command of the transaction finds it. Takes the writer lock meanwhile: a
/// publisher changes what is on disk. `ignore` is the rule for what git ignores.
///
/// Errors: kInvalid `run.damaged`; kConflict `run.file_changes`; kTimeout `commit.locked`.
[[nodiscard]] Result<RunCapture> capture_run(WorkspaceState& workspace, const RunFolder& folder,
                                             const std::shared_ptr<ContentStore>& store,
                                             const IgnoreRule& ignore, bool is_live);

}  // namespace galley
