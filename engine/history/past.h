#pragma once

#include <galley/path.h>
#include "base/clock.h"
#include "base/result.h"
#include "engine/history/history.h"
#include "staging/fs/directory.h"
#include "staging/overlay/proposal.h"

namespace galley {

/// The change from the workspace as it is now to the tree as it was just after `id`: staged on a
/// view or a copy it shows that tree. Paths that no later transaction touched are as they are now;
/// what was written past Galley is known only as far as a later transaction met it.
Result<Proposal> proposal_to_past(const History& history, const Directory& workspace, TxId id,
                                  const Clock& clock);

}  // namespace galley
