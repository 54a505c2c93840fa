#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "engine/commit/state_directory.h"
#include "staging/overlay/change_set.h"

namespace galley {

/// Keeps the present contents of these paths in the view of every live run (see view_pins.h). The
/// holder of the writer lock calls it before it changes the paths. A run that ended in the meantime
/// is skipped.
///
/// The note of a run is not trusted. The process must belong to this user and have the start time
/// in the note, and its open descriptor must be an overlay with the run's upper layer.
///
/// Errors: kRefused `run.not_pinned`, which names the run and the remedy. The caller need not undo
///         anything.
[[nodiscard]] Result<void> pin_live_views(const StateDirectory& state, const ChangeSet& changes);

/// Deletes RemovedDirectories (engine/commit/retire.h) after the last run has ended. If another
/// process publishes now, a later call deletes it.
Result<void> clear_removed_directories(const StateDirectory& state, const Clock& clock);

}  // namespace galley
