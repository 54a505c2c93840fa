#pragma once

#include <string>

#include "base/result.h"
#include "engine/pipeline/custom_tools.h"
#include "engine/pipeline/trust.h"
#include "engine/pipeline/workspace_state.h"

namespace galley {

/// Lets a workspace have the tools of a folder: on record, then kept, and from the next open on
/// they can be called.
/// Errors: kRefused `tool.by_agent`; those of trust_tools; the audit log's.
Result<void> admit_tools(WorkspaceState& workspace, const TransactionOptions& who,
                         const UserSettings& settings, const ToolFolder& folder);

/// Takes one of them away: on record, then gone. False when there is none of that name.
/// Errors: as admit_tools.
Result<bool> dismiss_tool(WorkspaceState& workspace, const TransactionOptions& who,
                          const UserSettings& settings, const std::string& name);

}  // namespace galley
