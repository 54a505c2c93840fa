#pragma once

#include "base/clock.h"
#include "engine/policy/gate.h"
#include "staging/fs/directory.h"
#include "staging/overlay/proposal.h"

namespace galley {

/// The yes of a gate without rules or validators; throws when even that says no.
Approval approve(const Proposal& proposal, const WritableDirectory& workspace, const Clock& clock);

}  // namespace galley
