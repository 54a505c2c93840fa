#pragma once

#include "base/result.h"
#include "tools/catalogue.h"
#include "tools/registry.h"

namespace galley {

/// Adds the standard tools (docs/tools.md), all names and dialects, in a fixed order. In a
/// read-only registry only those that read.
Result<void> add_standard_tools(ToolRegistry& registry);

/// Adds the tools that stand in profiles only (docs/profiles.md has the keys of `setting`), in a
/// fixed order. In a read-only registry only those that read.
Result<void> add_dialect_tools(ToolRegistry& registry, ToolSetting setting = {});

}  // namespace galley
