#pragma once

#include <galley/tool.h>

#include <memory>

#include "base/result.h"
#include "tools/tool.h"

namespace galley {

/// A tool that the embedding program defined, as the registry takes it.
///
/// Its intent is open-ended: what it touches shows only while it runs, so each access is judged
/// when it is made (ToolContext::judge).
/// Errors: kInvalid, reason `tool.no_function`, when there is nothing to run.
[[nodiscard]] Result<std::unique_ptr<const Tool>> make_defined_tool(ToolDefinition definition);

}  // namespace galley
