#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <galley/path.h>
#include "base/clock.h"
#include "base/result.h"
#include "engine/history/history.h"
#include "engine/history/rebase.h"
#include "staging/overlay/change_set.h"

namespace galley {

/// Values of CommitMeta::tool. A partial undo or redo reverts only some paths or hunks, so its
/// transaction does not count as undone.
inline constexpr std::string_view kUndoTool = "undo";
inline constexpr std::string_view kPartialUndoTool = "undo-part";
inline constexpr std::string_view kRedoTool = "redo";
inline constexpr std::string_view kPartialRedoTool = "redo-part";
[[nodiscard]] constexpr bool is_partial(std::string_view tool) {
  return tool == kPartialUndoTool || tool == kPartialRedoTool;
}

using HunkSelection = UndoOptions::Hunks;

/// A later transaction that changed something made by an earlier one.
struct Dependency {
  TxId later;
  TxId on;
  RelPath path = RelPath::root();
  bool same_lines = false;  ///< it changed the same lines; else other lines of the same file
  /// "12 builds on 9 in src/a.c".
  [[nodiscard]] std::string text() const;
};

/// An undo that fits. It is judged and published like any other proposal.
struct UndoPlan {
  TxId undoes;
  std::vector<TxId> also_undoes;  ///< undone together with it, newest first
  std::vector<TxId> redoes;       ///< for a redo: the transactions that are in effect again
  std::string tool;               ///< for CommitMeta::tool: kUndoTool or another one of the four
  std::string message;  ///< the reason when the caller gives none: "undo 9: <its message>"
  Proposal proposal;
  std::vector<MergedPath> merged;        ///< empty when the undo is exact
  std::vector<Dependency> dependencies;  ///< later transactions on the same paths, oldest first
  std::string turn = {};                 ///< for a redo of turns: TurnSummary::name()
  bool is_rest = false;                  ///< undos of other parts of the transaction are in effect
  std::vector<TxId> passed =
      {};  ///< those of `undoes` and `also_undoes` without an effect any more

  /// Returns `undoes` and `also_undoes`.
  [[nodiscard]] std::vector<TxId> taken_back() const;
};

/// The undo does not fit.
struct UndoConflict {
  TxId undoes;
  std::vector<PathConflict> paths;  ///< `diff` shows the changes since the transaction
  std::vector<Dependency> dependencies;
};

/// The workspace is already in the state before the transaction.
struct NothingToUndo {
  TxId undoes;
};

using UndoOutcome = std::variant<UndoPlan, UndoConflict, NothingToUndo>;

/// Plans the undo of `id`: content, mode, link target and directories, but never mtimes.
///
/// The undo is exact where nothing changed since. Elsewhere it is a reverse three-way merge, which
/// follows files that were renamed since. If entries were added later to a directory of the
/// transaction, the directory and these entries are kept. The undo of an undo is a redo. Undos of
/// parts of the transaction are not in the way of the undo of the rest.
/// Errors: kNotFound `history.not_found`, `history.pruned`; kUsage `undo.unknown_path`,
///         `undo.unknown_hunk`.
Result<UndoOutcome> plan_undo(const History& history, const Directory& workspace, TxId id,
                              const Clock& clock, const UndoOptions& options = {});

/// Plans the undo of several transactions together, newest first: all of them or none. Changes that
/// others made in between stay, merged by lines; a place where they do not fit is a conflict, which
/// names the transaction. `ids` must not be empty. A path of the options also means the other names
/// that its file had in these transactions.
/// Errors: as plan_undo; kQuota `limit.undone_together` above kMaxUndoneTogether.
Result<UndoOutcome> plan_undo_together(const History& history, const Directory& workspace,
                                       std::vector<TxId> ids, const Clock& clock,
                                       const UndoOptions& options = {});
/// The maximum number of transactions that one undo takes back.
inline constexpr size_t kMaxUndoneTogether = 10'000;

/// Returns the transactions of a list that are in effect, newest first: without undone ones, and
/// without undos of others in the list, but with the undos of parts of them, which an undo of the
/// rest builds on.
[[nodiscard]] std::vector<TxId> ids_in_effect(const std::vector<TxSummary>& transactions);

/// Plans the undo of an undo. `id` names the undo or a transaction that it undid.
/// Errors: kUsage `undo.not_undone`; otherwise as plan_undo.
Result<UndoOutcome> plan_redo(const History& history, const Directory& workspace, TxId id,
                              const Clock& clock, const UndoOptions& options = {});

/// Plans the undo of all undos in effect of these transactions: all of them or none. `turn` is the
/// name of what they are, for people.
/// Errors: kUsage `undo.not_undone`, `undo.of_more` if such an undo has also undone others;
///         otherwise as plan_undo_together.
Result<UndoOutcome> plan_redo_together(const History& history, const Directory& workspace,
                                       const std::vector<TxSummary>& transactions,
                                       const std::string& turn, const Clock& clock,
                                       const UndoOptions& options = {});

/// The part of a transaction to undo, reversed: from the state it left to the state before it.
struct ReverseChange {
  Proposal change;
  bool is_partial = false;  ///< a part of the transaction stays
};

/// Errors: kUsage `undo.unknown_path`, `undo.unknown_hunk`.
Result<ReverseChange> reverse_of(TxId id, const Proposal& transaction, const UndoOptions& options);

}  // namespace galley
