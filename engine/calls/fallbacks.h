#pragma once

#include <string>

#include "tools/registry.h"

namespace galley {

/// Whether another tool of the name may answer in place of the one that failed so. What may have
/// done something that cannot be taken back is not done twice.
[[nodiscard]] bool may_fall_back(const ToolInfo& info, const ToolError& error);

/// For who reads the result: which tool was passed over, and why.
[[nodiscard]] std::string passed_over(const ToolRegistry::Entry& tried, const ToolError& error,
                                      const ToolRegistry::Entry& next);

}  // namespace galley
