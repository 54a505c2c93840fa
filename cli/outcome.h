#pragma once

#include "base/result.h"
#include "cli/session.h"
#include "engine/pipeline/transaction.h"

namespace galley {

/// Prints the proposal as the diff options ask, or puts it and the verdict into `document`.
Result<void> show_preview(Session& session, const Preview& preview, Json& document);

/// Ends a command that asked the gate: prints the verdict (or `document`); 0 for a yes, 1 for a no.
Result<int> finish_verdict(Session& session, const Verdict& verdict, Json& document);

/// Ends a command that committed: what was committed, or why not, as text or in `document`.
Result<int> finish_commit(Session& session, const CommitOutcome& outcome, const Proposal& proposal,
                          Json& document);

/// For --conflict=markers: stages the proposal with markers in a stored transaction, and says where
/// they are. `known` are markers that it has already.
Result<void> stage_markers(Session& session, Transaction& transaction, const Proposal& proposal,
                           std::vector<MergedPath> known, Json& document);

}  // namespace galley
