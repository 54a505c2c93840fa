#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <galley/path.h>
#include "base/result.h"
#include "staging/fs/directory.h"

namespace galley {

/// One call, edit or command in the audit log that changed something.
struct RecordedCall {
  std::string execution_id;
  std::string tool;
  /// Paths, sorted. A directory ends in `/`; directories above another path are left out.
  std::vector<std::string> changed;
  uint64_t changed_more = 0;  ///< the number of changed paths that are not listed

  /// Whether both changed the same path, or one changed a path above or below a path of the other.
  [[nodiscard]] bool shares_path_with(const RecordedCall& other) const;
};

/// The transaction in which one call was made, with its effective calls.
struct RecordedTransaction {
  std::string open_tx;              ///< its id while it was open
  std::optional<TxId> committed;    ///< its number, or that of a fork made after the call; nullopt
                                    ///< if none was committed
  std::vector<RecordedCall> calls;  ///< oldest first, without those that were undone before the
                                    ///< commit; those of a fork begin with those of its parent
  std::optional<size_t> wanted;     ///< index into `calls`; nullopt when the call was undone before
                                    ///< the commit
  std::string agent;                ///< the agent of the wanted call; empty: a person
};

/// Finds a call by its execution id. Reads the log twice from its beginning.
/// Errors: kNotFound, reason `rollback.unknown_execution`, also for a call that changed nothing.
Result<RecordedTransaction> find_recorded_call(const Directory& state_root,
                                               std::string_view execution);

/// The numbers of committed transactions, by their ids while they were open.
Result<std::vector<std::pair<std::string, TxId>>> committed_transactions(
    const Directory& state_root);

/// The numbers of the transactions that a session committed, oldest first, without its undos. They
/// may be no longer in the history.
Result<std::vector<TxId>> committed_by_session(const Directory& state_root,
                                               std::string_view session);

/// Commands, oldest first, by the commit that has their changes.
using CommittedCommands = std::map<TxId, std::vector<std::string>>;

/// The commands of the tool Bash that changed something and are in one of these commits. Reads only
/// the end of the log, if it has all that happened since the first of them began.
Result<CommittedCommands> committed_commands(const Directory& state_root,
                                             const std::set<TxId>& commits);

/// A call that its caller named, and that changed something, ran a program, or ended its
/// transaction. No call of a program.
struct IdentifiedCall {
  /// How it ended its transaction.
  enum class End : uint8_t { kNone, kCommit, kRollback };
  std::string session_id;  ///< of a commit: the session of its transaction
  std::string call_id;
  std::string execution_id;
  std::string agent;
  std::string tool;
  std::string input = {};   ///< recorded_input() of its arguments
  std::string output = {};  ///< JSON; empty: it failed, or the record has only a part of its result
  int64_t duration_ms = 0;
  std::string tx = {};         ///< the transaction, while it was open
  bool has_ended = false;      ///< it was committed or rolled back
  bool has_begun = false;      ///< a program was started
  bool has_no_change = false;  ///< it returned, and there was nothing to commit
  std::string time = {};       ///< of its record (rfc3339_utc)
  End end = End::kNone;
};

/// The calls with ids of a session and a call that are on record since a time (rfc3339_utc),
/// oldest first. Of several with the same ids, the last one. Reads only the end of the log, at most
/// 64 MiB.
Result<std::vector<IdentifiedCall>> identified_calls(const Directory& state_root,
                                                     const std::string& since);

/// Returns the number of the transaction that a commit, an undo or a redo made. The arguments are
/// members of its record.
[[nodiscard]] std::optional<TxId> committed_as(std::string_view kind, std::string_view tx,
                                               std::string_view execution_id);

}  // namespace galley
