#pragma once

#include <memory>

#include "base/result.h"
#include "engine/history/undo.h"
#include "staging/overlay/proposal.h"

namespace galley {

/// The part of a transaction that is to be taken back, turned round: from what it left to what was
/// there before.
struct ReverseChange {
  Proposal change;
  bool is_partial = false;  ///< something of the transaction stays
};

/// Errors: kUsage `undo.unknown_path`, `undo.unknown_hunk`.
Result<ReverseChange> reverse_of(TxId id, const Proposal& transaction, const UndoOptions& options);

}  // namespace galley
