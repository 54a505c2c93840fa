#pragma once

#include <galley/workspace.h>

#include "engine/audit/recorder.h"
#include "engine/calls/action.h"
#include "engine/commit/branch_publisher.h"
#include "engine/pipeline/inner_transaction.h"
#include "engine/pipeline/workspace_state.h"

namespace galley {

/// The options of one judgement.
struct JudgeOptions {
  GateRequest gate;   ///< verdict_on() fills in the principals
  Approver approver;  ///< empty: no person can be asked
};

/// The rules and the tree of one judgement. All members are borrowed.
struct JudgementBasis {
  const Config& config;
  const Directory& base;
  const std::string& root_path;  ///< absolute
  CommandRunner* runner;         ///< null: command validators fail
  ValidatorCache* cache;         ///< null: results are not cached
  const Clock& clock;
  std::string base_name = {};                ///< as ProposedTree's
  const Directory* rules = nullptr;          ///< as ProposedTree's; null: `base`
  std::vector<RelPath> returned_links = {};  ///< as ProposedTree's
};

/// Returns the verdict of the gate on a proposal. May be called from several threads.
Result<Verdict> verdict_on(const JudgementBasis& basis, const Proposal& proposal,
                           const TransactionOptions& who, JudgeOptions options);
/// As above, for a proposal to a workspace.
Result<Verdict> verdict_on(WorkspaceState& workspace, const Proposal& proposal,
                           const TransactionOptions& who, JudgeOptions options);

/// Judges a proposal. Previews, commits, undo and redo all use this function.
Result<Preview> judge(WorkspaceState& workspace, Proposal proposal, const TransactionOptions& who,
                      const std::function<void(const GateProgress&)>& on_progress);

/// Shows the present commit of the branch of a git workspace, and returns it. The rules of an open
/// workspace are constant, so a commit with another galley.toml needs another open.
/// Errors: kConflict `config.changed_on_branch`; those of GitBranch.
[[nodiscard]] Result<JudgedTree> follow_branch(const WorkspaceState& workspace);

/// How often one commit is merged and judged again because its files changed or its branch moved.
/// Then it is a conflict: others are faster than the gate.
inline constexpr int kMaxMerges = 8;

/// Judges a proposal, and publishes it if the gate approves. Records every outcome before it
/// returns; a commit also writes the pending records of `recorder`. Calls `on_number`, if given,
/// with the number and the proposal of the commit, under the writer lock and before the first
/// write. An Error from it ends the commit.
using CommitNumber = std::function<Result<void>(TxId, const Proposal&)>;
Result<CommitOutcome> decide_and_publish(WorkspaceState& workspace, const Proposal& asked,
                                         const TransactionOptions& who,
                                         const CommitRequest& request, Recorder& recorder,
                                         const CommitNumber& on_number = {});

/// What such a commit would meet now. Writes nothing.
[[nodiscard]] Result<CommitOutlook> look_ahead(WorkspaceState& workspace, const Proposal& proposal,
                                               const TransactionOptions& who,
                                               const CommitRequest& request);

/// Records the refusal of a proposal that was only previewed, if there is a log. `tool` is the name
/// of the command or tool that asked.
Result<void> record_refused_look(const Workspace& workspace, const Preview& preview,
                                 const TransactionOptions& who, const std::string& tool);

/// Performs an action of the workspace through the executor, outside any open transaction.
Result<void> perform_outside_transaction(const Rules& rules, const TransactionOptions& who,
                                         Recorder& recorder, Action action, const Effect& effect);

/// Returns the kind of the record of this commit: commit, undo or redo.
[[nodiscard]] AuditKind kind_of(const CommitRequest& request);

}  // namespace galley
