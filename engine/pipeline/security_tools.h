#pragma once

#include "base/result.h"
#include "engine/pipeline/workspace_state.h"
#include "tools/registry.h"

namespace galley {

/// Adds `sec.grant`, `sec.revoke` and `sec.audit` (aiOS). The first two write to `.galley`
/// directly, so a rollback does not revert them. Hence they have tier 3, and the mode asks. They
/// are for people only.
/// Errors: as ToolRegistry::add.
Result<void> add_security_tools(ToolRegistry& registry, const Rules& rules,
                                PersistentState& persistent);

}  // namespace galley
