#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include <galley/path.h>
#include "base/clock.h"
#include "engine/commit/publisher.h"
#include "engine/commit/state_directory.h"
#include "engine/commit/writer_lock.h"

namespace galley {

/// What clear_leftovers removed, or would remove.
struct LeftoverReport {
  std::vector<std::string> stages;  ///< ids of transactions that were never committed
  std::vector<std::string> files;   ///< or folders, left over by killed processes, below `.galley`
  uint64_t bytes = 0;               ///< freed in all
};

struct ClearOptions {
  std::chrono::hours max_stage_age{};
  bool dry_run = false;
  std::vector<std::string> busy_stages = {};  ///< not to be dropped, though nobody holds them
  AuditSink* audit = nullptr;                 ///< as RetireOptions has it
};

/// Clears what killed processes left: stages that nobody holds and that did not change for
/// `max_stage_age`, contents that no stage refers to, temporary names, tickets of dead waiters.
/// Finished journals that are due are retired. Never touches the history (engine/history prunes
/// it), rescue/ or quarantine/.
Result<LeftoverReport> clear_leftovers(const WritableDirectory& workspace,
                                       const StateDirectory& state, WriterLock& lock,
                                       const Clock& clock, const ClearOptions& options);

/// Moves journals of `j/` that are damaged, or say what none may, to quarantine/, with what is in
/// their slots, so that the workspace can be used again. Their transactions may be half applied:
/// `doctor` says so. Damaged ones of `undo/`, and those of another workspace, go there too.
Result<std::vector<TxId>> quarantine_damaged(const WritableDirectory& workspace,
                                             const StateDirectory& state, const WriterLock& lock);

}  // namespace galley
