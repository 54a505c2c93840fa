#pragma once

#include <string>

#include "base/result.h"
#include "cli/session.h"
#include "engine/pipeline/transaction_state.h"

namespace galley {

/// One line a file of what a change does: "staged README.md (+1 -1)".
Result<std::string> staged_text(const Proposal& change);

/// What was staged since `before`: a line a file, or `changes`, `diff` and the whole transaction's
/// `proposal` in `document`, which is then printed.
Result<void> show_staged(Session& session, Transaction& transaction, const Overlay::Entries& before,
                         Json& document);

}  // namespace galley
