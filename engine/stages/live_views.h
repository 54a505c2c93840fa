#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "engine/commit/state_directory.h"
#include "staging/overlay/change_set.h"

namespace galley {

/// Makes the view of every live run keep its present contents of these paths (see view_pins.h). The
/// holder of the writer lock calls it before it changes them. A run that ended meanwhile is
/// skipped.
///
/// A run's note is not trusted: the process must belong to this user and have begun when the note
/// says, and its open descriptor must be an overlay with the run's upper layer.
///
/// Errors: kRefused `run.not_pinned` names the run and the solution; nothing must be undone.
[[nodiscard]] Result<void> pin_live_views(const StateDirectory& state, const ChangeSet& changes);

/// Deletes RemovedDirectories (engine/commit/retire.h) when the last run has ended. While another
/// process publishes, it stays for the next call.
Result<void> clear_removed_directories(const StateDirectory& state, const Clock& clock);

}  // namespace galley
