#include <galley/workspace.h>

#include <chrono>
#include <utility>
#include <variant>

#include "engine/calls/readable_changes.h"
#include "engine/history/blame.h"
#include "engine/history/index.h"
#include "engine/history/undo.h"
#include "engine/pipeline/workspace_state.h"
#include "engine/policy/policy.h"

namespace galley {
namespace {

constexpr std::chrono::milliseconds kQueryTime{10'000};

CommitOutcome as_conflict(UndoConflict misfits) {
  Conflict conflict;
  conflict.reason = "undo.conflict";
  for (PathConflict& path : misfits.paths) {
    conflict.paths.push_back({std::move(path.path), path.expected, path.found,
                              std::move(path.message), std::move(path.diff),
                              std::move(path.hunks)});
  }
  for (const Dependency& dependency : misfits.dependencies) {
    conflict.warnings.push_back(dependency.text());
  }
  return {Proposal::from({}, nullptr), std::move(conflict)};
}

/// Judges and publishes what was planned, by the one road.
Result<CommitOutcome> carry_out(Workspace& workspace, UndoOutcome planned, TransactionOptions who) {
  if (auto* misfits = std::get_if<UndoConflict>(&planned)) return as_conflict(std::move(*misfits));
  auto* plan = std::get_if<UndoPlan>(&planned);
  if (plan == nullptr) return CommitOutcome(Proposal::from({}, nullptr), NothingToCommit{});
  if (who.message.empty()) who.message = plan->message;
  CommitRequest request;
  request.tool = plan->tool;
  request.undoes = plan->undoes;
  GALLEY_ASSIGN(CommitOutcome outcome, workspace.commit(std::move(plan->proposal), who, request));
  if (auto* receipt = std::get_if<Receipt>(&outcome)) {
    for (const MergedPath& merged : plan->merged) {
      receipt->warnings.push_back(merged.path.str() + ": " + merged.how);
    }
  }
  return outcome;
}

/// Markers need a stored transaction to stand in until they are gone.
UndoOptions without_markers(const WorkspaceState& workspace, UndoOptions options) {
  if (options.mode == MergeMode::kMarkers) options.mode = MergeMode::kLines;
  if (workspace.config.commit.on_conflict == OnConflict::kRefuse) options.mode = MergeMode::kExact;
  return options;
}

}  // namespace

Result<History> history_of(WorkspaceState& workspace, std::string_view verb) {
  if (workspace.doubt) return *workspace.doubt;
  GALLEY_TRY(workspace.look_for_state());
  if (workspace.state() != nullptr) return History(*workspace.state());
  return fail(ErrorKind::kNotFound, "history.empty",
              "nothing to " + std::string(verb) + " yet: nothing was committed in '" +
                  workspace.root_path + "'");
}

Result<CommitOutcome> Workspace::undo(std::string_view id, const UndoOptions& options,
                                      const TransactionOptions& who) {
  GALLEY_ASSIGN(const History history, history_of(*state_, "undo"));
  GALLEY_ASSIGN(const TxId tx, history.resolve(id));
  GALLEY_ASSIGN(UndoOutcome planned, plan_undo(history, state_->root(), tx, state_->clock(),
                                               without_markers(*state_, options)));
  return carry_out(*this, std::move(planned), who);
}

Result<CommitOutcome> Workspace::redo(std::string_view id, const UndoOptions& options,
                                      const TransactionOptions& who) {
  GALLEY_ASSIGN(const History history, history_of(*state_, "redo"));
  TxId tx;
  if (!id.empty()) {
    GALLEY_ASSIGN(tx, history.resolve(id));
  }
  GALLEY_ASSIGN(UndoOutcome planned, plan_redo(history, state_->root(), tx, state_->clock(),
                                               without_markers(*state_, options)));
  return carry_out(*this, std::move(planned), who);
}

Result<std::vector<TxSummary>> Workspace::log(const HistoryFilter& filter) const {
  if (state_->doubt) return *state_->doubt;
  GALLEY_TRY(state_->look_for_state());
  if (state_->state() == nullptr) return std::vector<TxSummary>();
  return History(*state_->state()).list(filter);
}

Result<Proposal> Workspace::show(std::string_view id, const std::string& agent) const {
  GALLEY_ASSIGN(const History history, history_of(*state_, "show"));
  GALLEY_ASSIGN(const TxId tx, history.resolve(id));
  GALLEY_ASSIGN(const Proposal proposal, history.proposal_of(tx));
  return readable_part(proposal, Policy(state_->config), agent).proposal;
}

Result<Blame> Workspace::blame(std::string_view path, const std::string& agent) const {
  GALLEY_ASSIGN(const RelPath file, RelPath::parse_within(path, state_->root_path));
  const Judgement reading = Policy(state_->config).judge_read(file, agent);
  if (reading.decision == Decision::kDeny) {
    return fail(ErrorKind::kRefused, reading.id, reading.message, file.str());
  }
  GALLEY_ASSIGN(const History history, history_of(*state_, "blame"));
  return galley::blame(history, state_->root(), file);
}

Result<QueryResult> Workspace::query(std::string_view sql) const {
  GALLEY_ASSIGN(const History history, history_of(*state_, "query"));
  GALLEY_ASSIGN(const auto index, HistoryIndex::open(history));
  return index->query(sql, Deadline::after(state_->clock(), kQueryTime), state_->clock());
}

}  // namespace galley
