#pragma once

#include "base/result.h"
#include "tools/catalogue.h"
#include "tools/registry.h"

namespace galley {

/// Adds the standard tools (docs/tools.md), with all names and dialects, in a fixed order. A
/// read-only registry gets only those that read.
Result<void> add_standard_tools(ToolRegistry& registry);

/// Adds the tools that only profiles show, in a fixed order (docs/tools/ has the keys of
/// `setting`). A read-only registry gets only those that read.
Result<void> add_dialect_tools(ToolRegistry& registry, ToolSetting setting = {});

}  // namespace galley
