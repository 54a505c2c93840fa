#pragma once

#include "base/result.h"
#include "engine/pipeline/workspace_state.h"
#include "tools/registry.h"

namespace galley {

/// Adds the tools `sec.grant`, `sec.revoke` and `sec.audit` of aiOS. Only people may call them. The
/// first two write to `.galley` directly, and a rollback does not revert them. So they have tier 3,
/// and need a confirmation in most modes.
/// Errors: as ToolRegistry::add.
Result<void> add_security_tools(ToolRegistry& registry, const Rules& rules,
                                PersistentState& persistent);

}  // namespace galley
