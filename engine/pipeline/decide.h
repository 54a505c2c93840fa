#pragma once

#include "engine/pipeline/workspace.h"
#include "engine/pipeline/workspace_state.h"

namespace galley {

/// Asks the gate about a proposal: the one way, for previews, commits, undo and redo alike.
Result<Preview> judge(WorkspaceState& workspace, Proposal proposal, const TransactionOptions& who,
                      const std::function<void(const GateProgress&)>& on_progress);

/// Judges, and publishes when the gate says yes. Every outcome is on record before it returns.
Result<CommitOutcome> decide_and_publish(WorkspaceState& workspace, Proposal proposal,
                                         const TransactionOptions& who,
                                         const CommitRequest& request);

}  // namespace galley
