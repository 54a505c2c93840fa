#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/result.h"
#include "engine/pipeline/custom_tools.h"
#include "engine/pipeline/trust.h"
#include "engine/pipeline/workspace_state.h"

namespace galley {

/// Puts on record that a person adds tools (kToolsAdded) or takes some away (kToolsRemoved), before
/// it is done. `input` says which.
/// Errors: kRefused `tool.by_agent` when `who` is an agent; the audit log's.
Result<void> record_admission(WorkspaceState& workspace, const TransactionOptions& who,
                              AuditKind kind, nlohmann::ordered_json input);

/// Lets a workspace have the tools of a folder: on record, then kept, and from the next open on
/// they can be called.
/// Errors: as record_admission and trust_tools.
Result<void> admit_tools(WorkspaceState& workspace, const TransactionOptions& who,
                         const UserSettings& settings, const ToolFolder& folder);

/// Takes one of them away: on record, then gone. False when there is none of that name.
/// Errors: as record_admission.
Result<bool> dismiss_tool(WorkspaceState& workspace, const TransactionOptions& who,
                          const UserSettings& settings, const std::string& name);

}  // namespace galley
