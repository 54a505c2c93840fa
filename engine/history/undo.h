#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <galley/path.h>
#include "base/clock.h"
#include "base/result.h"
#include "engine/history/history.h"
#include "engine/history/rebase.h"
#include "staging/overlay/proposal.h"

namespace galley {

/// What CommitMeta::tool says of an undo of some paths or hunks only: the rest of the transaction
/// stands, so it is not taken as undone.
inline constexpr std::string_view kUndoTool = "undo";
inline constexpr std::string_view kPartialUndoTool = "undo-part";
inline constexpr std::string_view kRedoTool = "redo";

using HunkSelection = UndoOptions::Hunks;

/// A later transaction that changed what this one had made.
struct Dependency {
  TxId later;
  TxId on;
  RelPath path = RelPath::root();
  bool same_lines = false;  ///< it changed the very lines; else other lines of the same file
  /// "12 builds on 9 in src/a.c".
  [[nodiscard]] std::string text() const;
};

/// An undo that fits: to be judged and published like any other proposal.
struct UndoPlan {
  TxId undoes;
  TxId redoes;          ///< of a redo: what stands again
  std::string tool;     ///< for CommitMeta::tool: kUndoTool, kPartialUndoTool or kRedoTool
  std::string message;  ///< a reason when the caller has none: "undo 9: <its message>"
  Proposal proposal;
  std::vector<MergedPath> merged;        ///< empty when the undo is exact
  std::vector<Dependency> dependencies;  ///< later transactions on the same paths, oldest first
};

/// It does not fit.
struct UndoConflict {
  TxId undoes;
  std::vector<PathConflict> paths;  ///< diff is what changed since the transaction
  std::vector<Dependency> dependencies;
};

/// The workspace already is as it was before the transaction.
struct NothingToUndo {
  TxId undoes;
};

using UndoOutcome = std::variant<UndoPlan, UndoConflict, NothingToUndo>;

/// Plans taking back what `id` did: content, mode, link target, directories; never an old mtime.
///
/// Exact where nothing changed since, a reverse three-way merge where something did (files that
/// were renamed since are followed). What a later hand put into a directory that the transaction
/// made is kept, with the directory.
/// Errors: kNotFound `history.not_found`, `history.pruned`; kUsage `undo.unknown_path`,
///         `undo.unknown_hunk`.
Result<UndoOutcome> plan_undo(const History& history, const Directory& workspace, TxId id,
                              const Clock& clock, const UndoOptions& options = {});

/// Plans taking back an undo. `id` names the undo or the transaction that it took back; none means
/// the newest undo that stands.
/// Errors: kNotFound `history.nothing_to_redo`; kUsage `undo.not_undone`; otherwise as plan_undo.
Result<UndoOutcome> plan_redo(const History& history, const Directory& workspace, TxId id,
                              const Clock& clock, const UndoOptions& options = {});

/// The part of a transaction that is to be taken back, turned round: from what it left to what was
/// there before.
struct ReverseChange {
  Proposal change;
  bool is_partial = false;  ///< something of the transaction stays
};

/// Errors: kUsage `undo.unknown_path`, `undo.unknown_hunk`.
Result<ReverseChange> reverse_of(TxId id, const Proposal& transaction, const UndoOptions& options);

}  // namespace galley
