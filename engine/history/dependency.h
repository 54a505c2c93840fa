#pragma once

#include <map>
#include <vector>

#include "base/result.h"
#include "engine/history/undo.h"

namespace galley {

/// The later history of a transaction's paths.
struct LaterHistory {
  std::vector<Dependency> dependencies;  ///< oldest first; without undone transactions
  std::map<RelPath, RelPath> moved;      ///< files that the transaction left, and their present
                                         ///< paths
};

/// Follows `paths`, as the transaction left them, through every later transaction.
Result<LaterHistory> later_history_of(const History& history, TxId id, const Proposal& transaction,
                                      const std::vector<RelPath>& paths);

}  // namespace galley
