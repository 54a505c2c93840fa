#pragma once

#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "engine/history/history.h"
#include "engine/history/undo.h"
#include "staging/fs/directory.h"

namespace galley {

/// Selects the transactions among which an undo or redo without an id chooses: those of an agent,
/// of a session, or all if both are empty.
struct CommittedBy {
  std::string agent;
  std::string session;
};

/// Whether the transaction takes others back. A redo does not, although it undoes an undo.
Result<bool> is_undo(const History& history, TxId id);

/// Returns the newest transaction in effect that is not an undo. A redo counts only if the history
/// no longer has the transaction that it brought back.
/// Errors: kNotFound `history.nothing_to_undo`.
Result<TxId> newest_to_undo(const History& history, const CommittedBy& who);

/// Returns the newest undo in effect.
/// Errors: kNotFound `history.nothing_to_redo`.
Result<TxId> newest_undo(const History& history, const CommittedBy& who);

/// Plans the undo of newest_to_undo(). Without paths and hunks it passes over transactions of which
/// the workspace has nothing any more.
/// Errors: as newest_to_undo() and plan_undo().
Result<UndoOutcome> plan_newest_undo(const History& history, const Directory& workspace,
                                     const CommittedBy& who, const Clock& clock,
                                     const UndoOptions& options = {});
/// Does the same with newest_undo().
Result<UndoOutcome> plan_newest_redo(const History& history, const Directory& workspace,
                                     const CommittedBy& who, const Clock& clock,
                                     const UndoOptions& options = {});

}  // namespace galley
