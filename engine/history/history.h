#pragma once

#include <galley/history.h>
#include <galley/path.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/hash.h"
#include "base/rel_path.h"
#include "base/result.h"
#include "engine/commit/outcome.h"
#include "staging/fs/directory.h"
#include "staging/overlay/change_set.h"

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

/// Tells which transaction undid which. Transactions are added from the newest to the oldest.
class UndoRelations {
 public:
  /// Adds one transaction; all newer ones must have been added before. If a part of an undo was
  /// taken back, it counts as an undo of parts.
  void take(TxId id, const CommitMeta& meta);
  /// The undo of the whole transaction `id` that is in effect.
  [[nodiscard]] std::optional<TxId> undone_by(TxId id) const;
  /// The undos of some paths or hunks of `id` that are in effect.
  [[nodiscard]] std::vector<TxId> partly_undone_by(TxId id) const;

 private:
  std::map<TxId, TxId> whole_;
  std::map<TxId, std::vector<TxId>> parts_;
};

/// Committed transactions, read from the journals.
///
/// Invariant: read only. Everything comes from the journals; the index only makes long lists fast.
/// Ownership: borrows the StateDirectory, which must outlive it. Copies share a small cache.
/// Threads:   safe to share.
/// Errors:    kNotFound `history.not_found` for an id that was never committed, `history.pruned`
///            for one that is no longer kept, even if a `gc` removed it during the call; kIo
///            `journal.damaged` for a damaged journal.
class History {
 public:
  explicit History(const StateDirectory& state);

  /// Lists transactions, newest first. Long histories are listed through the index, which is
  /// updated first.
  Result<std::vector<TxSummary>> list(const HistoryFilter& filter = {}) const;
  /// Does the same from the journals only.
  Result<std::vector<TxSummary>> scan(const HistoryFilter& filter = {}) const;
  Result<TxSummary> summary(TxId id) const;
  Result<TxRecord> load(TxId id) const;
  /// Both sides of its changes, for render_diff and similar functions.
  Result<Proposal> proposal_of(TxId id) const;
  /// The newest transaction, if there is one.
  Result<std::optional<TxId>> latest() const;
  /// Ids of all transactions, oldest first.
  Result<std::vector<TxId>> ids() const;
  /// Returns the journal itself. The last journal that was read is cached.
  Result<std::shared_ptr<const CommittedTransaction>> journal(TxId id) const;
  /// Does the same without file contents: author, reason and changes.
  Result<std::shared_ptr<const CommittedTransaction>> outline(TxId id) const;

  /// Resolves an id as a person writes it: a number; `@` or `HEAD` for the newest transaction,
  /// `@~2` for the second before it. An empty text means newest_to_undo() among all.
  /// Errors: kUsage `history.bad_id`; kNotFound as above, or `history.nothing_to_undo`.
  Result<TxId> resolve(std::string_view text) const;
  [[nodiscard]] const StateDirectory& state() const { return *state_; }

 private:
  struct Cache;
  const StateDirectory* state_;
  std::shared_ptr<Cache> cache_;
};

/// Describes one transaction for a list. The caller sets `undone_by` and `partly_undone_by`.
Result<TxSummary> summarize(const CommittedTransaction& transaction, bool with_lines);

/// Whether the filter accepts this transaction.
[[nodiscard]] bool matches(const HistoryFilter& filter, const TxSummary& summary);

/// Returns the change from the present workspace to the tree just after `id`. A view or a copy
/// shows that tree when the change is staged on it. Paths that no later transaction touched are as
/// they are now. Writes of other programs are known only if a later transaction found them.
Result<Proposal> proposal_to_tree_after(const History& history, const Directory& workspace, TxId id,
                                        const Clock& clock);

/// Parses the argument of `--since`: `90s`, `15m`, `2h`, `3d`, `1w` before `now_ns`, a date
/// `2026-11-21` or an RFC 3339 time; all in UTC.
/// Errors: kUsage `history.bad_time`.
Result<int64_t> parse_time_expression(std::string_view text, int64_t now_ns);

}  // namespace galley
