#pragma once

#include "base/result.h"
#include "cli/session.h"
#include "engine/pipeline/transaction_state.h"

namespace galley {

/// Runs the validators with `fix = true` on the staged files and stages their fixes. Prints what
/// they changed, or adds it to `document` as `fix`.
Result<void> stage_fixes(Session& session, Transaction& transaction, Json& document);

}  // namespace galley
