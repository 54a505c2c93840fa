#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <galley/history.h>
#include "base/result.h"
#include "engine/history/history.h"
#include "engine/history/undo_choice.h"
#include "staging/overlay/change_set.h"

namespace galley {

/// One turn of an agent's session: its commits between two prompts of a person. A
/// commit whose turn is not known is a turn of its own. The number of a turn is that of its first
/// transaction.
struct TurnSummary {
  TxId id;
  std::optional<TxId> last;             ///< of a range of turns: the number of the last one
  int64_t time_ns = 0;                  ///< of its first transaction
  std::string agent;                    ///< or the one in whose transaction a person committed
  std::string session;                  ///< may be empty
  std::string title;                    ///< the beginning of its prompt, or the commit's reason
  std::vector<TxSummary> transactions;  ///< newest first, without undos of others of them

  /// Paths of files and links that it changed, each once.
  [[nodiscard]] size_t files() const;
  /// The transactions that are still in effect, newest first.
  [[nodiscard]] std::vector<TxId> in_effect() const;
  /// As find_turn() takes it: `3`, or `3..5`.
  [[nodiscard]] std::string name() const;
};

/// Groups transactions, newest first, to turns, newest first. Undos by no session are not turns.
[[nodiscard]] std::vector<TurnSummary> turns_of(const std::vector<TxSummary>& transactions);

/// Lists transactions, newest first.
using ListTransactions = std::function<Result<std::vector<TxSummary>>(const HistoryFilter&)>;

/// The newest turns, at most `limit`; 0: all. Reads no more of the history than they and the
/// sessions of their agents need.
[[nodiscard]] Result<std::vector<TurnSummary>> newest_turns(const ListTransactions& list,
                                                            HistoryFilter filter, size_t limit);

/// The turn that has this transaction; `text` is an id as History::resolve() takes it, or `last`
/// for the newest turn that is in effect: of `session`, if that is not empty. `A..B` are the turns
/// of one session from A to B, together.
/// Errors: as History::resolve() and newest_to_undo(); kUsage `turn.range`.
Result<TurnSummary> find_turn(const History& history, const std::string& text,
                              const std::string& session);

/// Whether a transaction is in effect and not an undo.
[[nodiscard]] bool is_to_undo(const TxSummary& one);

/// The newest turn of which something is undone by these.
/// Errors: kNotFound `history.nothing_to_redo`.
Result<TurnSummary> newest_undone_turn(const History& history, const CommittedBy& who);

/// The change from before the first of these transactions to after the last: paths that others
/// changed in between have their changes too.
Result<Proposal> change_together(const History& history, std::vector<TxId> ids);

}  // namespace galley
