#pragma once

#include <galley/path.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/commit/journal.h"
#include "engine/commit/state_directory.h"
#include "engine/commit/writer_lock.h"

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

/// Ids of all journals, ascending, without reading them. It also has transactions that were not
/// committed: for those load_committed() returns kNotFound.
Result<std::vector<TxId>> listed_ids(const StateDirectory& state);

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

/// The git commits that contain a transaction's contents: ids in hexadecimal, oldest first.
using CommitLinks = std::map<TxId, std::vector<std::string>>;

/// All links in `.galley/links/<workspace id>/git-commits`; damaged lines are skipped.
[[nodiscard]] Result<CommitLinks> read_commit_links(const StateDirectory& state);

/// Whether the link is among these.
[[nodiscard]] bool has_commit_link(const CommitLinks& links, TxId id, const std::string& commit);

/// Adds the links of a git commit to these transactions. An existing link is not added again.
Result<void> add_commit_links(const StateDirectory& state, const WriterLock& lock,
                              const std::vector<TxId>& transactions, const std::string& commit);

/// Above this size the older half is dropped.
inline constexpr uint64_t kMaxCommitLinkBytes = uint64_t{8} << 20U;

}  // namespace galley
