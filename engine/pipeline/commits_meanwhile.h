#pragma once

#include "engine/calls/guarded_runner.h"
#include "engine/pipeline/persistent_state.h"

namespace galley {

/// Notes the last finished commit, before a command starts. It does not wait for the writer lock.
/// The result compares the effects of the command with the commits that were made since. It names
/// them where an effect is refused because the file changed on disk, and it refuses a file that
/// they deleted and the command wrote: the disk has no time stamp of it any more.
[[nodiscard]] RefuseEffects refuse_by_later_commits(PersistentState& persistent);

}  // namespace galley
