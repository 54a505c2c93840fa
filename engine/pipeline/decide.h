#pragma once

#include <galley/workspace.h>

#include "engine/audit/recorder.h"
#include "engine/calls/action.h"
#include "engine/pipeline/workspace_state.h"

namespace galley {

/// What one judgement may ask and use.
struct JudgeOptions {
  GateRequest gate;   ///< who is judged is filled in
  Approver approver;  ///< empty: nobody is there
};

/// By what a proposal is judged, and on which tree. Borrows all of it.
struct JudgementBasis {
  const Config& config;
  const Directory& base;
  const std::string& root_path;  ///< absolute
  CommandRunner* runner;         ///< null: commands cannot be run
  ValidatorCache* cache;         ///< null: nothing is remembered
  const Clock& clock;
  std::string base_name = {};  ///< as ProposedTree's
};

/// What the gate says of a proposal. May be called from several threads.
Result<Verdict> verdict_on(const JudgementBasis& basis, const Proposal& proposal,
                           const TransactionOptions& who, JudgeOptions options);
/// The same for a proposal to a workspace.
Result<Verdict> verdict_on(WorkspaceState& workspace, const Proposal& proposal,
                           const TransactionOptions& who, JudgeOptions options);

/// Asks the gate about a proposal: the one way, for previews, commits, undo and redo alike.
Result<Preview> judge(WorkspaceState& workspace, Proposal proposal, const TransactionOptions& who,
                      const std::function<void(const GateProgress&)>& on_progress);

/// Judges, and publishes when the gate says yes. Every outcome is on record before it returns, a
/// commit together with what `recorder` holds.
/// `on_number`, when given, is told what will be published under which number, under the writer
/// lock and before anything is written; an Error of it ends the commit.
using CommitNumber = std::function<Result<void>(TxId, const Proposal&)>;
Result<CommitOutcome> decide_and_publish(WorkspaceState& workspace, const Proposal& asked,
                                         const TransactionOptions& who,
                                         const CommitRequest& request, Recorder& recorder,
                                         const CommitNumber& on_number = {});

/// Puts the refusal of a proposal that was judged and will not be asked to be committed on record,
/// where there is a log; makes none. `tool` is what asked.
Result<void> record_refused_look(const Workspace& workspace, const Preview& preview,
                                 const TransactionOptions& who, const std::string& tool);

/// What a workspace does by itself, apart from any open transaction, passes the executor as well.
Result<void> pass_alone(const Rules& rules, const TransactionOptions& who, Recorder& recorder,
                        Action action, const Effect& effect);

/// As what a commit that was asked for so is on record: a commit, an undo or a redo.
[[nodiscard]] AuditKind kind_of(const CommitRequest& request);

}  // namespace galley
