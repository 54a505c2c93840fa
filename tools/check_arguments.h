#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tools/registry.h"

namespace galley {

/// What is wrong with the arguments of a call, without calling anything: all that the schema
/// refuses, or, when it refuses nothing, the first thing that the tool cannot make sense of.
/// Whether files are there and who may do it shows only in a call.
///
/// `root` is as in ToolContext. A tool that is not made yet is not made for this.
[[nodiscard]] std::vector<SchemaViolation> check_arguments(const ToolRegistry::Entry& entry,
                                                           std::string_view json_arguments,
                                                           const std::string& root);

}  // namespace galley
