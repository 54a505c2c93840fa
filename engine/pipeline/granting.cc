#include "engine/pipeline/granting.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "engine/audit/recorder.h"
#include "engine/calls/action.h"
#include "engine/pipeline/decide.h"

namespace galley {
namespace {

Error grant_by_agent() {
  return {ErrorKind::kRefused, "grant.by_agent",
          "an agent neither grants nor revokes; have a person say it, without --agent", "", 0};
}

}  // namespace

Result<void> say_as_person(WorkspaceState& workspace, const TransactionOptions& who,
                           AuditEvent event, const Error& no_agent,
                           const std::function<Result<void>()>& check) {
  GALLEY_TRY(workspace.need_state());
  Recorder recorder(workspace.audit, workspace.clock(), RecordTime::kAtOnce);
  Action action;
  action.record = std::move(event);
  return pass_alone(workspace, who, recorder, std::move(action), [&](AuditEvent&) -> Result<void> {
    if (!who.agent.empty()) return no_agent;
    return check();
  });
}

Result<void> say_grant(WorkspaceState& workspace, const TransactionOptions& who, Grant grant) {
  grant.said_ns = workspace.clock().wall_ns();
  AuditEvent event;
  event.kind = grant.is_revoked ? AuditKind::kRevocation : AuditKind::kGrant;
  event.tool = grant.is_revoked ? "sec.revoke" : "sec.grant";
  event.reason = "said by " + grant.by;
  event.input = std::make_shared<const nlohmann::ordered_json>(
      nlohmann::ordered_json{{"agent", grant.agent}, {"capability", grant.capability}});
  GALLEY_TRY(
      say_as_person(workspace, who, std::move(event), grant_by_agent(), [&]() -> Result<void> {
        const auto no = objection_to_grant(workspace.config, grant);
        return no ? Result<void>(*no) : Result<void>();
      }));
  GALLEY_TRY(KeptGrants(*workspace.state_directory).keep(grant));
  return workspace.refresh_grants();
}

}  // namespace galley
