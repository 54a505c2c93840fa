#include <galley/transaction.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/calls/action.h"
#include "engine/pipeline/transaction_state.h"
#include "engine/stages/savepoints.h"
#include "engine/stages/stored_stage.h"

namespace galley {

Result<const WritableDirectory*> Transaction::stage_directory() const {
  if (state_->stage && !state_->is_over) return &state_->stage->directory();
  return fail(ErrorKind::kUsage, "transaction.not_stored",
              "only a transaction begun with `galley begin` has savepoints and forks");
}

Result<void> Transaction::savepoint(const std::string& name) {
  GALLEY_ASSIGN(const WritableDirectory* stage, stage_directory());
  Action action = own_step(AuditKind::kSavepoint);
  action.record.input = json_document({{"name", name}});
  return pass(std::move(action), [&](AuditEvent&) -> Result<void> {
    GALLEY_TRY(check_may_change_staged());
    return make_savepoint(*stage, name, state_->overlay.entries(), state_->workspace->clock());
  });
}

Result<size_t> Transaction::changes_at(const std::string& savepoint) const {
  GALLEY_ASSIGN(const WritableDirectory* stage, stage_directory());
  GALLEY_ASSIGN(const Overlay::Entries entries, entries_at_savepoint(*stage, savepoint));
  return static_cast<size_t>(std::count_if(entries.begin(), entries.end(), [](const auto& entry) {
    return entry.second.before != entry.second.now;
  }));
}

Result<void> Transaction::rollback_to(const std::string& name) {
  GALLEY_ASSIGN(const WritableDirectory* stage, stage_directory());
  Action action = own_step(AuditKind::kRollback);
  action.record.input = json_document({{"to", name}});
  const auto passed = pass(std::move(action), [&](AuditEvent&) -> Result<void> {
    GALLEY_TRY(check_may_change_staged());
    GALLEY_ASSIGN(Overlay::Entries entries, entries_at_savepoint(*stage, name));
    state_->overlay.restore(std::move(entries));
    return {};
  });
  GALLEY_TRY(passed);
  GALLEY_TRY(save());
  return drop_savepoints_after(*stage, name);
}

}  // namespace galley
