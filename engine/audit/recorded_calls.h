#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <galley/path.h>
#include "base/result.h"
#include "staging/fs/directory.h"

namespace galley {

/// One call, edit or command that changed something, as the audit log has it.
struct RecordedCall {
  std::string execution_id;
  std::string tool;
  /// Paths, sorted. A directory's ends in `/`; those above another path are left out.
  std::vector<std::string> changed;
  uint64_t changed_more = 0;  ///< how many paths more it changed than are listed

  /// Whether both changed a path, or one of them something above or below one of the other.
  [[nodiscard]] bool shares_path_with(const RecordedCall& other) const;
};

/// The transaction in which one call was made, with what counts of its calls.
struct RecordedTransaction {
  std::string open_tx;              ///< its id while it was open
  std::optional<TxId> committed;    ///< its number; none while it is open or when it was dropped
  std::vector<RecordedCall> calls;  ///< oldest first, without what was taken back before the commit
  std::optional<size_t> wanted;     ///< of `calls`; none when it was taken back before the commit
};

/// Finds a call by its execution id. Reads the log twice from its beginning.
/// Errors: kNotFound, reason `rollback.unknown_execution`, also for one that changed nothing.
Result<RecordedTransaction> find_recorded_call(const Directory& state_root,
                                               std::string_view execution);

/// The numbers under which transactions were committed, by the ids they had while they were open.
Result<std::vector<std::pair<std::string, TxId>>> committed_transactions(
    const Directory& state_root);

/// The number of the transaction that a record of a commit, an undo or a redo tells of.
[[nodiscard]] std::optional<TxId> committed_as(std::string_view kind, std::string_view tx,
                                               std::string_view execution_id);

}  // namespace galley
