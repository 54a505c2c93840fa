#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "base/result.h"
#include "tools/catalogue.h"
#include "tools/operation.h"
#include "tools/registry.h"
#include "tools/tool.h"

namespace galley {

/// Adds the standard tools (docs/tools.md), with all names and dialects, in a fixed order. A
/// read-only registry gets only those that read.
Result<void> add_standard_tools(ToolRegistry& registry);

/// Adds the tools that only profiles show, in a fixed order (docs/tools/ has the keys of
/// `setting`). A read-only registry gets only those that read.
Result<void> add_dialect_tools(ToolRegistry& registry, ToolSetting setting = {});

// The rows of tools/catalogue are written in a language of four forms. No fifth form will be added
// (docs/adr/0095). A tool that needs more names a C++ function.

/// The operations of a row's `do`: a list of `{"verb": {"member": value}}`. A value is a literal;
/// `"$name"`, an argument (if it is missing, the member keeps the verb's default); a list of such
/// values, of which the first present one is used; or `{"not": value}`.
/// Errors: kInvalid `path.invalid`; kRefused `path.outside`.
[[nodiscard]] Result<std::vector<Operation>> operations_of(const nlohmann::json& steps,
                                                           const nlohmann::json& args,
                                                           const PathOrigin& origin);

/// The answer of a row. A form is a literal; `"$0"`, the first operation's answer, or
/// `"$0.member"`, a member of it; or an object of such values, in which missing ones are left out.
[[nodiscard]] nlohmann::ordered_json answer_of(const nlohmann::ordered_json& form,
                                               const std::vector<JsonDocument>& results);

}  // namespace galley
