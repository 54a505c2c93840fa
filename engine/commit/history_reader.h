#pragma once

#include <memory>
#include <vector>

#include "engine/commit/journal.h"
#include "engine/commit/state_directory.h"

namespace galley {

/// One committed transaction with both images of every path, for log, show, undo and blame.
struct CommittedTransaction {
  Journal journal;  ///< `images` moved into `store`
  ChangeSet changes;
  /// Every content of both sides; blobs are read from `.galley/blob` on demand.
  std::shared_ptr<const ContentStore> store;
};

/// Ids of all transactions in the history, ascending: retired ones and those still in `j/` whose
/// apply step was not undone. Damaged journals are included: load_committed() reports them.
Result<std::vector<TxId>> committed_ids(const StateDirectory& state);

/// Ids of the damaged journals in `j/`, ascending. It skips `undo/`, which has too many journals to
/// be read often.
Result<std::vector<TxId>> damaged_pending_ids(const StateDirectory& state);

/// The error for a transaction that is not in the history: kNotFound `history.pruned` when it is
/// older than every kept one, else `history.not_found`.
[[nodiscard]] Error not_in_history(const StateDirectory& state, TxId id);

/// Loads one transaction. Its store returns `history.pruned` if a `gc` removes a content
/// afterwards. With ImageUse::kSkip the store has only the contents in blob/.
/// Errors: as not_in_history; kIo `journal.damaged`.
Result<CommittedTransaction> load_committed(const StateDirectory& state, TxId id,
                                            ImageUse use = ImageUse::kKeep);

}  // namespace galley
