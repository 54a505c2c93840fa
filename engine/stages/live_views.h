#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "engine/commit/state_directory.h"
#include "staging/overlay/change_set.h"

namespace galley {

/// Makes the view of every live run keep what it shows of these paths (see view_pins.h): for the
/// holder of the writer lock, before it changes them. A run that ended meanwhile has no view any
/// more, which is fine.
///
/// What a run's note says is not believed: the process must be of this user and have begun when the
/// note says, and what it holds open must be an overlay with the run's upper layer.
///
/// Errors: kRefused `run.not_pinned` names the run and the way out; nothing has to be taken back.
[[nodiscard]] Result<void> pin_live_views(const StateDirectory& state, const ChangeSet& changes);

/// Takes the graveyard away (engine/commit/retire.h) when no run is live any more. Where
/// somebody else publishes just now it stays for the next one.
Result<void> clear_graveyard_of_no_run(const StateDirectory& state, const Clock& clock);

}  // namespace galley
