#pragma once

#include "base/clock.h"
#include "engine/policy/gate.h"
#include "staging/fs/directory.h"
#include "staging/overlay/change_set.h"

namespace galley {

/// Returns the approval of a gate without rules or validators. Throws if even that gate refuses.
Approval approve(const Proposal& proposal, const WritableDirectory& workspace, const Clock& clock);

}  // namespace galley
