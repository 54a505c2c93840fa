#include "engine/history/undo.h"

#include <utility>

#include "engine/commit/history_reader.h"
#include "engine/history/dependency.h"
#include "engine/history/undo_selection.h"

namespace galley {
namespace {

RebaseOptions rebase_options(TxId id, const UndoOptions& options) {
  RebaseOptions rebasing;
  rebasing.mode = options.mode;
  rebasing.base_label = "after " + id.str();
  rebasing.wanted_label = "before " + id.str();
  return rebasing;
}

std::vector<RelPath> paths_of(const Proposal& change) {
  std::vector<RelPath> paths;
  for (const Change& one : change.changes()) paths.push_back(one.path);
  return paths;
}

bool is_exact(const RebaseOutcome& outcome) {
  const auto* rebased = std::get_if<Rebased>(&outcome);
  return rebased != nullptr && rebased->merged.empty();
}

std::string default_message(TxId id, const CommitMeta& meta) {
  std::string message = "undo " + id.str();
  if (!meta.message.empty()) message += ": " + meta.message;
  return message;
}

/// The newest undo that stands and was not itself made to take back an undo.
Result<TxId> newest_undo(const History& history) {
  GALLEY_ASSIGN(const std::vector<TxId> ids, history.ids());
  std::map<TxId, CommitMeta> metas;
  for (const TxId id : ids) {
    const auto journal = history.outline(id);
    // Pruned since we looked.
    if (!journal && journal.error().kind == ErrorKind::kNotFound) continue;
    if (!journal) return fail(journal.error());
    metas.emplace(id, (*journal)->journal.meta);
  }
  const auto depth = [&](TxId id) {
    size_t steps = 0;
    for (auto at = metas.find(id); at != metas.end() && at->second.undoes; ++steps) {
      if (*at->second.undoes >= at->first) break;
      at = metas.find(*at->second.undoes);
    }
    return steps;
  };
  UndoRelations standing;
  for (auto it = metas.rbegin(); it != metas.rend(); ++it) {
    standing.take(it->first, it->second);
    if (depth(it->first) % 2 == 1 && !standing.undone_by(it->first)) return it->first;
  }
  return fail(ErrorKind::kNotFound, "history.nothing_to_redo",
              "nothing to redo: no undo stands that could be taken back");
}

Result<TxId> undo_to_take_back(const History& history, TxId id) {
  if (id.value == 0) return newest_undo(history);
  GALLEY_ASSIGN(const TxSummary summary, history.summary(id));
  if (summary.undone_by) return *summary.undone_by;
  if (!summary.partly_undone_by.empty()) return summary.partly_undone_by.front();
  if (summary.undoes) return id;
  return fail(ErrorKind::kUsage, "undo.not_undone",
              "transaction " + id.str() + " stands: there is no undo of it to take back");
}

}  // namespace

Result<UndoOutcome> plan_undo(const History& history, const Directory& workspace, TxId id,
                              const Clock& clock, const UndoOptions& options) {
  GALLEY_ASSIGN(const TxRecord record, history.load(id));
  GALLEY_ASSIGN(const ReverseChange reverse, reverse_of(id, record.proposal, options));
  RebaseOptions rebasing = rebase_options(id, options);
  GALLEY_ASSIGN(RebaseOutcome outcome, rebase(reverse.change, workspace, clock, rebasing));
  Aftermath since;
  if (!is_exact(outcome)) {
    GALLEY_ASSIGN(since, aftermath_of(history, id, record.proposal, paths_of(reverse.change)));
    if (!since.moved.empty()) {
      rebasing.moved = since.moved;
      GALLEY_ASSIGN(outcome, rebase(reverse.change, workspace, clock, rebasing));
    }
  }
  if (auto* conflict = std::get_if<RebaseConflict>(&outcome)) {
    return UndoOutcome(UndoConflict{id, std::move(conflict->paths), std::move(since.dependencies)});
  }
  auto& rebased = std::get<Rebased>(outcome);
  if (rebased.proposal.is_empty()) return UndoOutcome(NothingToUndo{id});
  return UndoOutcome(UndoPlan{id, TxId(),
                              std::string(reverse.is_partial ? kPartialUndoTool : kUndoTool),
                              default_message(id, record.meta), std::move(rebased.proposal),
                              std::move(rebased.merged), std::move(since.dependencies)});
}

Result<UndoOutcome> plan_redo(const History& history, const Directory& workspace, TxId id,
                              const Clock& clock, const UndoOptions& options) {
  GALLEY_ASSIGN(const TxId undo, undo_to_take_back(history, id));
  GALLEY_ASSIGN(UndoOutcome outcome, plan_undo(history, workspace, undo, clock, options));
  if (auto* plan = std::get_if<UndoPlan>(&outcome)) {
    GALLEY_ASSIGN(const TxRecord record, history.load(undo));
    if (plan->tool == kUndoTool) plan->tool = kRedoTool;
    plan->redoes = record.meta.undoes.value_or(undo);
    plan->message = "redo " + plan->redoes.str();
  }
  return outcome;
}

}  // namespace galley
