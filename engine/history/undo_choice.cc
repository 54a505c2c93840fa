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

/// What an undo or a redo without an id chooses among.
enum class Wanted : uint8_t { kToUndo, kUndos };

/// Visits the transactions in effect that can be undone, or the undos, newest first, until `visit`
/// returns false.
template <class Visit>
Result<void> visit_in_effect(const History& history, const CommittedBy& who, Wanted wanted,
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
    GALLEY_ASSIGN(const bool is_meant, wanted == Wanted::kToUndo ? is_to_undo(history, *id, meta)
                                       : meta.undoes             ? is_undo(history, *id)
                                                                 : Result<bool>(false));
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

tl::unexpected<Error> none_left(const History& history, const CommittedBy& who, Wanted wanted) {
  return wanted == Wanted::kToUndo ? nothing_to_undo(history, who) : nothing_to_redo(who);
}

Result<TxId> newest(const History& history, const CommittedBy& who, Wanted wanted) {
  std::optional<TxId> found;
  GALLEY_TRY(visit_in_effect(history, who, wanted, [&](TxId id) -> Result<bool> {
    found = id;
    return false;
  }));
  if (!found) return none_left(history, who, wanted);
  return *found;
}

/// Plans with each visited transaction until one has an effect. Those that were passed over are
/// undone with it: otherwise they would be in the way of the next step. A part of a transaction is
/// taken only from the first.
Result<UndoOutcome> plan_newest(const History& history, const Directory& workspace,
                                const CommittedBy& who, const Clock& clock,
                                const UndoOptions& options, Wanted wanted) {
  std::optional<UndoOutcome> found;
  std::vector<TxId> passed;
  const bool is_whole = options.paths.empty() && options.hunks.empty();
  GALLEY_TRY(visit_in_effect(history, who, wanted, [&](TxId id) -> Result<bool> {
    GALLEY_ASSIGN(UndoOutcome outcome, plan_undo(history, workspace, id, clock, options));
    const bool is_nothing = std::holds_alternative<NothingToUndo>(outcome);
    if (!is_nothing || !found) found = std::move(outcome);
    if (is_nothing) passed.push_back(id);
    return is_nothing && is_whole;
  }));
  if (!found) return none_left(history, who, wanted);
  auto* made = std::get_if<UndoPlan>(&*found);
  if (made == nullptr || passed.empty()) return *std::move(found);
  made->passed = passed;
  passed.push_back(made->undoes);
  made->undoes = passed.front();
  made->also_undoes.insert(made->also_undoes.begin(), passed.begin() + 1, passed.end());
  return *std::move(found);
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
  return newest(history, who, Wanted::kToUndo);
}

Result<TxId> newest_undo(const History& history, const CommittedBy& who) {
  return newest(history, who, Wanted::kUndos);
}

Result<UndoOutcome> plan_newest_undo(const History& history, const Directory& workspace,
                                     const CommittedBy& who, const Clock& clock,
                                     const UndoOptions& options) {
  return plan_newest(history, workspace, who, clock, options, Wanted::kToUndo);
}

Result<UndoOutcome> plan_newest_redo(const History& history, const Directory& workspace,
                                     const CommittedBy& who, const Clock& clock,
                                     const UndoOptions& options) {
  return plan_newest(history, workspace, who, clock, options, Wanted::kUndos);
}

}  // namespace galley
