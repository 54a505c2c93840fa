#pragma once

#include "base/result.h"
#include "cli/session.h"

namespace galley {

/// rollback --execution: takes one call back, where it is: in its open transaction, or by an undo
/// of its paths when that was committed.
Result<int> rollback_execution(Session& session);

}  // namespace galley
