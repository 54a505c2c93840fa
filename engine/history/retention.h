#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <galley/path.h>
#include "base/clock.h"
#include "base/result.h"
#include "engine/policy/config.h"

namespace galley {

class StateDirectory;

/// What pruning takes away, or would.
struct PruneReport {
  struct Pruned {
    TxId id;
    uint64_t bytes = 0;
    std::string why;  ///< `count`, `age` or `bytes`
  };
  std::vector<Pruned> transactions;  ///< oldest first
  uint64_t blobs = 0;                ///< contents that no journal names any more
  uint64_t bytes = 0;                ///< freed in all
};

/// Drops the oldest retired transactions beyond the limits, then contents that nothing names. The
/// newest transaction is always kept, and one that is not yet retired. The caller holds the
/// writer's lock unless `dry_run`.
Result<PruneReport> prune_history(const StateDirectory& state, const HistoryConfig& limits,
                                  const Clock& clock, bool dry_run);

/// Bytes on disk below `.galley`, for `doctor`.
struct DiskUse {
  struct Part {
    std::string name;  ///< `j`, `undo`, `blob`, `slot`, `stage`, `rescue`, `quarantine`, `other`
    uint64_t files = 0;
    uint64_t bytes = 0;
  };
  std::vector<Part> parts;
  uint64_t transactions = 0;
  uint64_t bytes = 0;
};
Result<DiskUse> disk_use(const StateDirectory& state);

}  // namespace galley
