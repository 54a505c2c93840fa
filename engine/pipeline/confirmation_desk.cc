#include "engine/pipeline/confirmation_desk.h"

#include <utility>

#include "engine/pipeline/asked_calls.h"

namespace galley {

ConfirmationDesk confirmation_desk(WorkspaceState& workspace, const TransactionOptions& who,
                                   const CallOptions& call, Recorder& recorder) {
  ConfirmationDesk desk;
  desk.mode = workspace.config.policy.mode;
  desk.who = who.principals();
  desk.call = &call;
  desk.keeps_nothing = call.dry_run || who.is_preview;
  desk.take = [&workspace](const ContentId& id) -> Result<std::optional<std::string>> {
    if (!workspace.state_directory) return std::optional<std::string>();
    return AskedCalls(*workspace.state_directory).take(id, workspace.clock().wall_ns());
  };
  desk.keep = [&workspace](const ContentId& id, const CallQuestion& question) -> Result<bool> {
    if (!workspace.state_directory) return false;
    GALLEY_TRY(
        AskedCalls(*workspace.state_directory).keep(id, question, workspace.clock().wall_ns()));
    return true;
  };
  desk.record = [&recorder](AuditEvent event) { return recorder.record(std::move(event)); };
  return desk;
}

}  // namespace galley
