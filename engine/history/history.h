#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <galley/history.h>
#include <galley/path.h>
#include "base/clock.h"
#include "base/content_id.h"
#include "base/rel_path.h"
#include "base/result.h"
#include "engine/commit/outcome.h"
#include "staging/fs/directory.h"
#include "staging/overlay/proposal.h"

namespace galley {

class StateDirectory;
struct CommittedTransaction;

using PathSummary = TxSummary::Path;

/// One committed transaction in full.
struct TxRecord {
  TxId id;
  int64_t time_ns = 0;
  CommitMeta meta;
  Proposal proposal;  ///< with the contents of both sides
};

/// What newer transactions say of older ones; fed from the newest to the oldest.
class UndoRelations {
 public:
  /// Takes one in; every newer one was taken in before.
  void take(TxId id, const CommitMeta& meta);
  /// The standing undo of all of `id`.
  [[nodiscard]] std::optional<TxId> undone_by(TxId id) const;
  /// Standing undos of some paths or hunks of it.
  [[nodiscard]] std::vector<TxId> partly_undone_by(TxId id) const;

 private:
  std::map<TxId, TxId> whole_;
  std::map<TxId, std::vector<TxId>> parts_;
};

/// Committed transactions, as the journals tell them.
///
/// Invariant: read only. Everything comes from the journals; the index only makes long lists fast.
/// Ownership: borrows the StateDirectory, which must outlive it. Copies share a small cache.
/// Threads:   safe to share.
/// Errors:    kNotFound `history.not_found` for an id that was never committed, `history.pruned`
///            for one that is kept no longer, also when a `gc` took it away a moment ago;
///            kIo `journal.damaged` for a journal that cannot be believed.
class History {
 public:
  explicit History(const StateDirectory& state);

  /// Newest first. Long histories are listed through the index, which is brought up to date first.
  Result<std::vector<TxSummary>> list(const HistoryFilter& filter = {}) const;
  /// The same from the journals alone.
  Result<std::vector<TxSummary>> scan(const HistoryFilter& filter = {}) const;
  Result<TxSummary> summary(TxId id) const;
  Result<TxRecord> load(TxId id) const;
  /// Both sides of what it changed, for render_diff and friends.
  Result<Proposal> proposal_of(TxId id) const;
  /// The newest transaction, if there is one.
  Result<std::optional<TxId>> latest() const;
  /// Ids of all transactions, oldest first.
  Result<std::vector<TxId>> ids() const;
  /// The journal itself; the last one read is kept.
  Result<std::shared_ptr<const CommittedTransaction>> journal(TxId id) const;
  /// The same without the contents of its files: who, why, and what changed.
  Result<std::shared_ptr<const CommittedTransaction>> outline(TxId id) const;

  /// What a person means by an id: its number; `@` or `HEAD` the newest transaction, `@~2`
  /// the second before it; nothing the newest that still stands and is no undo (what `undo` takes).
  /// Errors: kUsage `history.bad_id`; kNotFound as above, or `history.nothing_to_undo`.
  Result<TxId> resolve(std::string_view text) const;

  [[nodiscard]] const StateDirectory& state() const { return *state_; }

 private:
  struct Cache;
  Result<TxId> newest_standing() const;
  const StateDirectory* state_;
  std::shared_ptr<Cache> cache_;
};

/// Describes one transaction for a list; `undone_by` and `partly_undone_by` are the caller's.
Result<TxSummary> summarize(const CommittedTransaction& transaction, bool with_lines);

/// Whether the filter takes this one.
[[nodiscard]] bool matches(const HistoryFilter& filter, const TxSummary& summary);

/// The change from the workspace as it is now to the tree as it was just after `id`: staged on a
/// view or a copy it shows that tree. Paths that no later transaction touched are as they are now;
/// what was written past Galley is known only as far as a later transaction met it.
Result<Proposal> proposal_to_past(const History& history, const Directory& workspace, TxId id,
                                  const Clock& clock);

}  // namespace galley
