#pragma once

#include "base/result.h"
#include "cli/session.h"

namespace galley {

/// rollback --execution: reverts one call, in its open transaction, or with an undo of its paths if
/// it was committed.
Result<int> rollback_execution(Session& session);

}  // namespace galley
