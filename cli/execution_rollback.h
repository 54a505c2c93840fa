#pragma once

#include "base/result.h"
#include "cli/session.h"

namespace galley {

/// rollback --execution: reverts one call. In an open transaction it removes the staged changes; if
/// the call was committed, it undoes its paths.
Result<int> rollback_execution(Session& session);

}  // namespace galley
