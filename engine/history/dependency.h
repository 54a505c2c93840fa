#pragma once

#include <map>
#include <vector>

#include "base/result.h"
#include "engine/history/undo.h"

namespace galley {

/// What became of the paths of a transaction after it.
struct Aftermath {
  std::vector<Dependency> dependencies;  ///< oldest first; without what was itself taken back
  std::map<RelPath, RelPath> moved;      ///< files it left, and where they are now
};

/// Follows `paths`, as the transaction left them, through every later transaction.
Result<Aftermath> aftermath_of(const History& history, TxId id, const Proposal& transaction,
                               const std::vector<RelPath>& paths);

}  // namespace galley
