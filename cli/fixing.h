#pragma once

#include "base/result.h"
#include "cli/session.h"
#include "engine/pipeline/transaction_state.h"

namespace galley {

/// Stages what the validators with `fix = true` make of what is staged, and says what they did, or
/// puts it into `document` as `fix`.
Result<void> stage_fixes(Session& session, Transaction& transaction, Json& document);

}  // namespace galley
