#include <galley/transaction.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "engine/calls/tool_names.h"
#include "engine/history/rebase.h"
#include "engine/pipeline/transaction_state.h"

namespace galley {

Result<void> Transaction::keep_part(const Proposal& part) {
  Action action = own_step(AuditKind::kRollback);
  action.record.input = json_document({{"to_part", part.id().hex()}});
  action.tools = tools_that(ToolDeed::kEdit);  // what is called a part could hold anything
  action.is_atomic = true;
  const auto passed = pass(std::move(action), [&](AuditEvent&) -> Result<void> {
    GALLEY_TRY(check_may_change_staged());
    // What was only read stays noted: it must still be so at the commit.
    Overlay::Entries kept;
    for (const auto& [path, entry] : state_->overlay.entries()) {
      if (entry.before == entry.now) kept.emplace(path, entry);
    }
    state_->overlay.restore(std::move(kept));
    return stage_proposal(part, state_->overlay);
  });
  GALLEY_TRY(passed);
  return save();
}

}  // namespace galley
