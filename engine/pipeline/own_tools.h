#pragma once

#include <galley/tool.h>

#include "engine/pipeline/workspace_state.h"
#include "tools/registry.h"

namespace galley {

/// Adds a tool that the program defines, with who may call it and what `[tools.NAME]` says to it.
/// Errors: those of ToolRegistry::add; kInvalid `tool.no_function`.
Result<void> add_own_tool(const WorkspaceState& workspace, ToolRegistry& registry,
                          ToolDefinition tool);

}  // namespace galley
