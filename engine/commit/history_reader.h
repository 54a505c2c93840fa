#pragma once

#include <memory>
#include <vector>

#include "engine/commit/journal.h"
#include "engine/commit/state_directory.h"

namespace galley {

/// One committed transaction with both images of every path, as log, show, undo and blame need it.
struct CommittedTransaction {
  Journal journal;  ///< `images` moved into `store`
  ChangeSet changes;
  /// Every content of both sides; blobs are read from `.galley/blob` when asked for.
  std::shared_ptr<const ContentStore> store;
};

/// Ids of all transactions in the history, ascending: retired ones and those still in `j/` whose
/// apply step was not taken back. Journals of `j/` that cannot be believed are left out.
Result<std::vector<TxId>> committed_ids(const StateDirectory& state);

/// What to say of a transaction that is not in the history: kNotFound, `history.pruned` for one
/// that is older than all that is kept, else `history.not_found`.
[[nodiscard]] Error not_in_history(const StateDirectory& state, TxId id);

/// Loads one transaction. Its store says `history.pruned` when a `gc` took it away meanwhile. With
/// ImageUse::kSkip the store has only what is in blob/.
/// Errors: as not_in_history; kIo `journal.damaged`.
Result<CommittedTransaction> load_committed(const StateDirectory& state, TxId id,
                                            ImageUse use = ImageUse::kKeep);

}  // namespace galley
