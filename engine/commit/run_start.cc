#include "engine/commit/run_start.h"

#include <utility>

#include "engine/commit/recovery.h"
#include "engine/commit/retire.h"

namespace galley {

Result<RunStart> RunStart::begin(const WritableDirectory& workspace, const StateDirectory& state,
                                 const Clock& clock, const PublisherOptions& options) {
  GALLEY_ASSIGN(WriterLock lock, WriterLock::take(state, clock, options.lock_timeout));
  RecoveryOptions recovery;
  recovery.boot_id = options.boot_id ? *options.boot_id : current_boot_id();
  recovery.audit = options.audit;
  GALLEY_TRY(recover(workspace, state, lock, recovery));
  GALLEY_TRY(RemovedDirectories::open_or_create(state, lock));
  GALLEY_ASSIGN(const TxId last, last_transaction(state, lock, state.session(recovery.boot_id)));
  const bool has_history = last != TxId();
  return RunStart(std::move(lock), has_history ? std::optional(last) : std::nullopt);
}

}  // namespace galley
