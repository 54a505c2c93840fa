// Rollback of one call of a committed transaction.
#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <variant>

#include <galley/workspace.h>
#include "engine/audit/recorded_calls.h"
#include "engine/audit/recorder.h"
#include "engine/calls/early_policy.h"
#include "engine/commit/stage_directory.h"
#include "engine/history/blame.h"
#include "engine/history/index.h"
#include "engine/history/undo.h"
#include "engine/history/undo_choice.h"
#include "engine/pipeline/decide.h"
#include "engine/pipeline/shown_changes.h"
#include "engine/pipeline/transaction_state.h"
#include "engine/pipeline/workspace_state.h"
#include "engine/policy/policy.h"

namespace galley {

namespace {

constexpr std::chrono::milliseconds kQueryTime{10'000};

CommitOutcome as_conflict(UndoConflict misfits, const std::string& agent, const Config& config) {
  Conflict conflict;
  conflict.reason = "undo.conflict";
  conflict.paths.assign(misfits.paths.begin(), misfits.paths.end());
  for (const Dependency& dependency : misfits.dependencies) {
    conflict.warnings.push_back(dependency.text());
  }
  for (ConflictPath& path : conflict.paths) hide_unread_texts(agent, config, path);
  return {Proposal::from({}, nullptr), std::move(conflict)};
}

/// Judges and publishes the planned undo like any other commit.
Result<CommitOutcome> carry_out(Workspace& workspace, UndoOutcome planned, TransactionOptions who) {
  if (auto* misfits = std::get_if<UndoConflict>(&planned)) {
    return as_conflict(std::move(*misfits), who.agent, rules_of(workspace).config);
  }
  auto* plan = std::get_if<UndoPlan>(&planned);
  if (plan == nullptr) return CommitOutcome(Proposal::from({}, nullptr), NothingToCommit{});
  if (who.message.empty()) who.message = plan->message;
  who.takes_back = plan->taken_back();
  CommitRequest request;
  request.tool = plan->tool;
  request.undoes = plan->undoes;
  request.also_undoes = plan->also_undoes;
  GALLEY_ASSIGN(CommitOutcome outcome, workspace.commit(std::move(plan->proposal), who, request));
  if (auto* receipt = std::get_if<Receipt>(&outcome)) {
    for (const MergedPath& merged : plan->merged) {
      receipt->warnings.push_back(merged.path.str() + ": " + merged.how);
    }
  }
  return outcome;
}

/// Markers would need a stored transaction until they are resolved.
UndoOptions without_markers(const WorkspaceState& workspace, UndoOptions options) {
  if (options.mode == MergeMode::kMarkers) options.mode = MergeMode::kLines;
  if (workspace.rules.config.commit.on_conflict == OnConflict::kRefuse)
    options.mode = MergeMode::kExact;
  return options;
}

}  // namespace

Result<CommitOutcome> Workspace::undo(std::string_view id, const UndoOptions& options,
                                      const TransactionOptions& who) {
  GALLEY_ASSIGN(const History history, state_->persistent.history("undo"));
  GALLEY_TRY(follow_branch(*state_));
  const UndoOptions how = without_markers(*state_, options);
  const Place& place = state_->place;
  TxId tx;
  if (!id.empty()) {
    GALLEY_ASSIGN(tx, history.resolve(id));
  }
  GALLEY_ASSIGN(UndoOutcome planned,
                id.empty() ? plan_newest_undo(history, place.files(), {}, place.clock(), how)
                           : plan_undo(history, place.files(), tx, place.clock(), how));
  return carry_out(*this, std::move(planned), who);
}

Result<CommitOutcome> Workspace::redo(std::string_view id, const UndoOptions& options,
                                      const TransactionOptions& who) {
  GALLEY_ASSIGN(const History history, state_->persistent.history("redo"));
  GALLEY_TRY(follow_branch(*state_));
  TxId tx;
  if (!id.empty()) {
    GALLEY_ASSIGN(tx, history.resolve(id));
  }
  const UndoOptions how = without_markers(*state_, options);
  const Place& place = state_->place;
  GALLEY_ASSIGN(UndoOutcome planned,
                id.empty() ? plan_newest_redo(history, place.files(), {}, place.clock(), how)
                           : plan_redo(history, place.files(), tx, place.clock(), how));
  return carry_out(*this, std::move(planned), who);
}

Result<std::vector<TxSummary>> Workspace::log(const HistoryFilter& filter) const {
  if (state_->persistent.doubt()) return *state_->persistent.doubt();
  GALLEY_TRY(state_->persistent.refresh());
  if (state_->persistent.state() == nullptr) return std::vector<TxSummary>();
  return History(*state_->persistent.state()).list(filter);
}

Result<Proposal> Workspace::show(std::string_view id, const std::string& agent) const {
  GALLEY_ASSIGN(const History history, state_->persistent.history("show"));
  GALLEY_ASSIGN(const TxId tx, history.resolve(id));
  GALLEY_ASSIGN(const Proposal proposal, history.proposal_of(tx));
  return readable_part(proposal, Policy(state_->rules.config), agent).proposal;
}

Result<Blame> Workspace::blame(std::string_view path, const std::string& agent) const {
  GALLEY_ASSIGN(const RelPath file, RelPath::parse_within(path, state_->place.path));
  const Judgement reading = Policy(state_->rules.config).judge_read(file, agent);
  if (reading.decision == Decision::kDeny) {
    return fail(ErrorKind::kRefused, reading.id, reading.message, file.str());
  }
  GALLEY_ASSIGN(const History history, state_->persistent.history("blame"));
  return galley::blame(history, state_->place.files(), file);
}

Result<QueryResult> Workspace::query(std::string_view sql) const {
  GALLEY_ASSIGN(const History history, state_->persistent.history("query"));
  GALLEY_ASSIGN(const auto index, HistoryIndex::open(history));
  return index->query(sql, Deadline::after(state_->place.clock(), kQueryTime),
                      state_->place.clock());
}

namespace {

using Calls = std::vector<RecordedCall>;

/// The calls of one transaction that are undone together, and those that prevent it.
struct CallSelection {
  std::set<size_t> taken;
  std::vector<std::string> later;
  std::vector<std::string> earlier;
};

CallSelection select_calls(const Calls& calls, size_t wanted, bool with_later) {
  CallSelection selection;
  selection.taken = {wanted};
  for (size_t i = wanted + 1; i < calls.size(); ++i) {
    const bool is_shared =
        std::any_of(selection.taken.begin(), selection.taken.end(),
                    [&](size_t taken) { return calls[taken].shares_path_with(calls[i]); });
    if (!is_shared) continue;
    if (with_later) {
      selection.taken.insert(i);
    } else {
      selection.later.push_back(calls[i].execution_id);
    }
  }
  for (size_t i = 0; i < calls.size(); ++i) {
    if (selection.taken.contains(i) || (i > wanted && !with_later)) continue;
    const bool is_shared = std::any_of(
        selection.taken.begin(), selection.taken.end(),
        [&](size_t taken) { return taken > i && calls[i].shares_path_with(calls[taken]); });
    if (is_shared) selection.earlier.push_back(calls[i].execution_id);
  }
  return selection;
}

std::string named(const std::vector<std::string>& ids) {
  std::string text;
  for (size_t i = 0; i < std::min(ids.size(), kNamedCalls); ++i) {
    text += (i == 0 ? "" : ", ") + ids[i];
  }
  return ids.size() > kNamedCalls ? text + " and others" : text;
}

Result<void> check_selection(const CallSelection& selection, const std::string& execution, TxId tx,
                             const Calls& calls) {
  if (!selection.later.empty()) {
    return fail(ErrorKind::kConflict, "rollback.built_upon",
                "later calls built on " + execution + ": " + named(selection.later) +
                    "; take them back, too, with --with-later");
  }
  if (!selection.earlier.empty()) {
    return fail(ErrorKind::kConflict, "rollback.built_on",
                execution + " changed what earlier calls of transaction " + tx.str() +
                    " had made: " + named(selection.earlier) +
                    "; the history has only their combined result: take back the first of them "
                    "with --with-later");
  }
  for (const size_t index : selection.taken) {
    if (calls[index].changed_more == 0) continue;
    return fail(ErrorKind::kQuota, "rollback.too_many_paths",
                calls[index].execution_id + " changed more paths than its record has room for; " +
                    "take back the whole with: galley undo " + tx.str());
  }
  return {};
}

Result<std::vector<RelPath>> paths_to_undo(const Calls& calls, const std::set<size_t>& taken) {
  std::set<RelPath> paths;
  for (const size_t index : taken) {
    for (std::string name : calls[index].changed) {
      if (name.ends_with('/')) name.pop_back();
      GALLEY_ASSIGN(RelPath path, RelPath::parse(name));
      paths.insert(std::move(path));
    }
  }
  return std::vector<RelPath>(paths.begin(), paths.end());
}

tl::unexpected<Error> not_committed(const WorkspaceState& workspace, const std::string& execution,
                                    const std::string& tx) {
  const auto stages = stage_ids(*workspace.persistent.state(), tx);
  if (stages && !stages->empty()) {
    return fail(ErrorKind::kUsage, "rollback.open",
                execution + " belongs to the open transaction " + tx +
                    "; take it back there: galley rollback --tx " + tx + " --execution " +
                    execution);
  }
  return fail(ErrorKind::kUsage, "rollback.not_committed",
              execution + " was never committed: its transaction was dropped");
}

}  // namespace

Result<CommitOutcome> Workspace::rollback_execution(const std::string& execution, bool with_later,
                                                    const TransactionOptions& who) {
  GALLEY_TRY(check_not_moved(state_->place));
  GALLEY_TRY(state_->persistent.history("roll back"));
  Recorder recorder = state_->persistent.recorder();
  AuditEvent event;
  event.kind = AuditKind::kRollback;
  event.tool = "rollback";
  event.agent = who.agent;
  event.owner = who.owner;
  event.reason = who.message;
  event.input = json_document({{"execution", execution}, {"with_later", with_later}});
  const auto take_back = [&]() -> Result<CommitOutcome> {
    GALLEY_ASSIGN(const RecordedTransaction found,
                  find_recorded_call(state_->persistent.state()->root(), execution));
    event.tx = found.committed ? found.committed->str() : found.open_tx;
    if (!found.committed) return not_committed(*state_, execution, found.open_tx);
    if (!found.wanted) {
      return fail(ErrorKind::kUsage, "rollback.nothing",
                  execution + " was taken back before its transaction was committed");
    }
    const CallSelection selection = select_calls(found.calls, *found.wanted, with_later);
    GALLEY_TRY(check_selection(selection, execution, *found.committed, found.calls));
    UndoOptions options;
    GALLEY_ASSIGN(options.paths, paths_to_undo(found.calls, selection.taken));
    TransactionOptions caller = who;
    if (caller.message.empty()) caller.message = "roll back " + execution;
    GALLEY_ASSIGN(CommitOutcome outcome, undo(found.committed->str(), options, caller));
    for (auto index = selection.taken.rbegin(); index != selection.taken.rend(); ++index) {
      event.executions.push_back(found.calls[*index].execution_id);
    }
    const auto* receipt = std::get_if<Receipt>(&outcome);
    event.output = json_document({{"committed", receipt != nullptr ? receipt->id.str() : ""}});
    return outcome;
  };
  Result<CommitOutcome> outcome = take_back();
  if (!outcome) event.error = tool_error_from(outcome.error());
  const auto recorded = recorder.record_now(std::move(event));
  auto* receipt = outcome ? std::get_if<Receipt>(&*outcome) : nullptr;
  // The undo itself is recorded with its commit.
  if (!recorded && receipt != nullptr) receipt->warnings.push_back(recorded.error().message);
  if (!recorded && receipt == nullptr) return fail(recorded.error());
  return outcome;
}

}  // namespace galley
