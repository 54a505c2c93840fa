#pragma once

#include <functional>

#include "base/result.h"
#include "engine/audit/audit.h"
#include "engine/pipeline/kept_grants.h"
#include "engine/pipeline/workspace_state.h"

namespace galley {

/// What only a person may say: it goes on record, and is refused with `no_agent` when an agent says
/// it, or when `check` does.
Result<void> say_as_person(WorkspaceState& workspace, const TransactionOptions& who,
                           AuditEvent event, const Error& no_agent,
                           const std::function<Result<void>()>& check);

/// Grants or revokes: on record, then kept, and from the next call on it counts. The time is filled
/// in.
/// Errors: as Workspace::grant.
Result<void> say_grant(WorkspaceState& workspace, const TransactionOptions& who, Grant grant);

}  // namespace galley
