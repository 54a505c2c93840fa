#pragma once

#include "base/result.h"
#include "engine/pipeline/workspace_state.h"
#include "tools/registry.h"

namespace galley {

/// Adds `sec.grant`, `sec.revoke` and `sec.audit` (aiOS). The first two act on `.galley`, where no
/// overlay takes them back, so they are of tier 3: the mode asks. They are for people only.
/// Errors: as ToolRegistry::add.
Result<void> add_security_tools(ToolRegistry& registry, WorkspaceState& workspace);

}  // namespace galley
