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

/// The objects that clear_leftovers removed, or would remove in a dry run.
struct LeftoverReport {
  std::vector<std::string> stages;  ///< ids of transactions that were never committed
  std::vector<std::string> files;   ///< files or folders below `.galley` that killed processes left
  uint64_t bytes = 0;               ///< freed in total, without caught_bytes
  uint64_t caught_bytes = 0;        ///< of replaced files that finished commits still held
};

struct ClearOptions {
  std::chrono::hours max_stage_age{};
  bool dry_run = false;
  std::vector<std::string> busy_stages = {};  ///< stages to keep although no process holds them
  AuditSink* audit = nullptr;                 ///< see RetireOptions
};

/// Removes what killed processes left: stages that no process holds and that did not change for
/// `max_stage_age`, contents that no stage refers to, temporary names, tickets of dead waiters.
/// Retires finished journals that are due. Never touches the history (engine/history prunes it),
/// rescue/ or quarantine/.
Result<LeftoverReport> clear_leftovers(const WritableDirectory& workspace,
                                       const StateDirectory& state, WriterLock& lock,
                                       const Clock& clock, const ClearOptions& options);

/// Moves a journal from `directory` to a new folder in quarantine/, from `j/` with its slots.
Result<void> quarantine(const StateDirectory& state, const WritableDirectory& directory, TxId id);

/// Moves journals of `j/` that are damaged or break a rule of journal_rules.h to quarantine/,
/// together with their slots, so that the workspace can be used again. Their transactions may be
/// half applied: `doctor` reports it. Damaged journals of `undo/`, and those of another workspace,
/// are moved too.
Result<std::vector<TxId>> quarantine_damaged(const WritableDirectory& workspace,
                                             const StateDirectory& state, WriterLock& lock);

}  // namespace galley
