#include "engine/history/undo_choice.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/printable.h"
#include "engine/commit/history_reader.h"

namespace galley {
namespace {

/// Returns nothing for a transaction that was pruned.
Result<std::optional<CommitMeta>> meta_of(const History& history, TxId id) {
  const auto transaction = history.outline(id);
  if (!transaction && transaction.error().kind == ErrorKind::kNotFound) {
    return std::optional<CommitMeta>();
  }
  if (!transaction) return fail(transaction.error());
  return std::optional((*transaction)->journal.meta);
}

/// What a transaction undoes, oldest first. An id that is not older than `id` cannot be undone by
/// it, so then it is empty.
std::vector<TxId> undone_by(TxId id, const std::optional<CommitMeta>& meta) {
  std::vector<TxId> undone;
  if (!meta || !meta->undoes) return undone;
  undone = meta->also_undoes;
  undone.push_back(*meta->undoes);
  std::sort(undone.begin(), undone.end());
  if (undone.back() >= id) undone.clear();
  return undone;
}

/// Whether the history lost the transaction that this redo brought back.
Result<bool> has_lost_original(const History& history, TxId id) {
  for (;;) {
    GALLEY_ASSIGN(const auto meta, meta_of(history, id));
    if (!meta) return true;
    const std::vector<TxId> undone = undone_by(id, meta);
    if (undone.empty()) return false;
    id = undone.front();
  }
}

Result<bool> is_to_undo(const History& history, TxId id, const CommitMeta& meta) {
  if (!meta.undoes) return true;
  GALLEY_ASSIGN(const bool takes_back, is_undo(history, id));
  return takes_back ? false : has_lost_original(history, id);
}

/// Whether undos of parts have restored all that the transaction changed.
Result<bool> is_undone_in_parts(const History& history, const CommittedTransaction& transaction,
                                const std::vector<TxId>& parts) {
  std::set<RelPath> restored;
  for (const TxId part : parts) {
    GALLEY_ASSIGN(const auto undo, history.outline(part));
    for (const Change& change : undo->changes) {
      const Change* undone = find_change(transaction.changes, change.path);
      if (undone != nullptr && change.after == undone->before) restored.insert(change.path);
    }
  }
  return restored.size() == transaction.changes.size();
}

/// Visits the transactions in effect that `is_wanted` selects, newest first, until `visit` returns
/// false.
template <class IsWanted, class Visit>
Result<void> visit_in_effect(const History& history, const CommittedBy& who, IsWanted is_wanted,
                             Visit visit) {
  GALLEY_ASSIGN(const std::vector<TxId> ids, listed_ids(history.state()));
  // The newest is most often the wanted one. It stays in memory, so it is not read again.
  if (!ids.empty()) (void)history.journal(ids.back());
  UndoRelations relations;
  for (auto id = ids.rbegin(); id != ids.rend(); ++id) {
    const auto transaction = history.outline(*id);
    // It was not committed, or it was pruned since the ids were listed.
    if (!transaction && transaction.error().kind == ErrorKind::kNotFound) continue;
    if (!transaction) return fail(transaction.error());
    const CommitMeta& meta = (*transaction)->journal.meta;
    relations.take(*id, meta);
    const bool is_own = (who.agent.empty() || meta.agent == who.agent) &&
                        (who.session.empty() || meta.session == who.session);
    if (!is_own || relations.undone_by(*id)) continue;
    GALLEY_ASSIGN(const bool is_meant, is_wanted(*id, meta));
    if (!is_meant) continue;
    std::vector<TxId> parts = relations.partly_undone_by(*id);
    // Of such an undo it is not known here what came back.
    std::erase_if(parts, [&](TxId part) { return !relations.partly_undone_by(part).empty(); });
    if (!parts.empty()) {
      GALLEY_ASSIGN(const bool is_over, is_undone_in_parts(history, **transaction, parts));
      if (is_over) continue;
    }
    GALLEY_ASSIGN(const bool goes_on, visit(*id));
    if (!goes_on) break;
  }
  return {};
}

template <class Visit>
Result<void> visit_to_undo(const History& history, const CommittedBy& who, Visit visit) {
  return visit_in_effect(
      history, who, [&](TxId id, const CommitMeta& meta) { return is_to_undo(history, id, meta); },
      visit);
}

template <class Visit>
Result<void> visit_undos(const History& history, const CommittedBy& who, Visit visit) {
  return visit_in_effect(
      history, who,
      [&](TxId id, const CommitMeta& meta) {
        return meta.undoes ? is_undo(history, id) : Result<bool>(false);
      },
      visit);
}

tl::unexpected<Error> nothing_to_undo(const History& history, const CommittedBy& who) {
  if (!who.session.empty()) {
    return fail(ErrorKind::kNotFound, "history.nothing_to_undo",
                "nothing to undo: this session has no transaction in effect; `galley log` lists "
                "all, and `galley undo ID` undoes one of others");
  }
  if (!who.agent.empty()) {
    return fail(ErrorKind::kNotFound, "history.nothing_to_undo",
                "nothing of the agent '" + printable_line(who.agent) +
                    "' to undo; `galley log` lists all transactions, and `galley undo ID` takes "
                    "back one of another agent");
  }
  const auto any = history.latest();
  return fail(ErrorKind::kNotFound, "history.nothing_to_undo",
              any && *any
                  ? "nothing to undo: every transaction was undone; `galley redo` brings "
                    "the last one back; if git restored one, `galley undo ID` undoes it again"
                  : "nothing to undo yet: nothing was committed here");
}

tl::unexpected<Error> nothing_to_redo(const CommittedBy& who) {
  if (!who.session.empty()) {
    return fail(ErrorKind::kNotFound, "history.nothing_to_redo",
                "nothing to redo: this session made no undo that is in effect; `galley log` lists "
                "all, and `galley redo ID` takes back one of others");
  }
  if (!who.agent.empty()) {
    return fail(ErrorKind::kNotFound, "history.nothing_to_redo",
                "nothing to redo: the agent '" + printable_line(who.agent) +
                    "' made no undo that is in effect; `galley log` lists all transactions, and "
                    "`galley redo ID` takes back the undo of another agent");
  }
  return fail(ErrorKind::kNotFound, "history.nothing_to_redo",
              "nothing to redo: no transaction is undone");
}

/// Plans with each visited transaction until one has an effect. Those that were passed over are
/// undone with it: otherwise they would be in the way of the next step. A part of a transaction is
/// taken only from the first.
template <class VisitAll, class Plan>
Result<std::optional<UndoOutcome>> plan_first(VisitAll visit_all, const UndoOptions& options,
                                              Plan plan) {
  std::optional<UndoOutcome> found;
  std::vector<TxId> passed;
  const bool is_whole = options.paths.empty() && options.hunks.empty();
  GALLEY_TRY(visit_all([&](TxId id) -> Result<bool> {
    GALLEY_ASSIGN(UndoOutcome outcome, plan(id));
    const bool is_nothing = std::holds_alternative<NothingToUndo>(outcome);
    if (!is_nothing || !found) found = std::move(outcome);
    if (is_nothing) passed.push_back(id);
    return is_nothing && is_whole;
  }));
  auto* made = found ? std::get_if<UndoPlan>(&*found) : nullptr;
  if (made == nullptr || passed.empty()) return found;
  made->passed = passed;
  passed.push_back(made->undoes);
  made->undoes = passed.front();
  made->also_undoes.insert(made->also_undoes.begin(), passed.begin() + 1, passed.end());
  return found;
}

template <class VisitAll>
Result<std::optional<TxId>> first_of(VisitAll visit_all) {
  std::optional<TxId> found;
  GALLEY_TRY(visit_all([&](TxId id) -> Result<bool> {
    found = id;
    return false;
  }));
  return found;
}

}  // namespace

Result<bool> is_undo(const History& history, TxId id) {
  for (bool is_one = false;; is_one = !is_one) {
    GALLEY_ASSIGN(const auto meta, meta_of(history, id));
    const std::vector<TxId> undone = undone_by(id, meta);
    if (undone.empty() || meta->tool == kRedoTool || meta->tool == kPartialRedoTool) return is_one;
    // An undo of the rest also takes back the undos of parts.
    for (const TxId one : undone) {
      GALLEY_ASSIGN(const auto other, meta_of(history, one));
      if (undone_by(one, other).empty()) return !is_one;
    }
    id = undone.front();
  }
}

Result<TxId> newest_to_undo(const History& history, const CommittedBy& who) {
  GALLEY_ASSIGN(const auto found,
                first_of([&](auto visit) { return visit_to_undo(history, who, visit); }));
  if (!found) return nothing_to_undo(history, who);
  return *found;
}

Result<TxId> newest_undo(const History& history, const CommittedBy& who) {
  GALLEY_ASSIGN(const auto found,
                first_of([&](auto visit) { return visit_undos(history, who, visit); }));
  if (!found) return nothing_to_redo(who);
  return *found;
}

Result<UndoOutcome> plan_newest_undo(const History& history, const Directory& workspace,
                                     const CommittedBy& who, const Clock& clock,
                                     const UndoOptions& options) {
  GALLEY_ASSIGN(
      auto found,
      plan_first([&](auto visit) { return visit_to_undo(history, who, visit); }, options,
                 [&](TxId id) { return plan_undo(history, workspace, id, clock, options); }));
  if (!found) return nothing_to_undo(history, who);
  return *std::move(found);
}

Result<UndoOutcome> plan_newest_redo(const History& history, const Directory& workspace,
                                     const CommittedBy& who, const Clock& clock,
                                     const UndoOptions& options) {
  GALLEY_ASSIGN(
      auto found,
      plan_first([&](auto visit) { return visit_undos(history, who, visit); }, options,
                 [&](TxId id) { return plan_undo(history, workspace, id, clock, options); }));
  if (!found) return nothing_to_redo(who);
  return *std::move(found);
}

}  // namespace galley
