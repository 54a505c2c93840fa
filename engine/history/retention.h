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

/// The objects that pruning removes, or would remove.
struct PruneReport {
  struct Pruned {
    TxId id;
    uint64_t bytes = 0;
    std::string why;  ///< `count`, `age` or `bytes`
  };
  std::vector<Pruned> transactions;  ///< oldest first
  uint64_t blobs = 0;                ///< contents that no journal names any longer
  uint64_t bytes = 0;                ///< freed in total
};

/// Drops the oldest retired transactions beyond the limits, then the contents that no journal
/// names. It always keeps the newest transaction and those that are not retired yet. The caller
/// holds the writer lock unless `dry_run`, which counts due_journals() as retired, as `gc` does.
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
