#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/rel_path.h"
#include "base/result.h"
#include "tools/operation.h"
#include "tools/tool.h"

namespace galley {

/// What a call of a standard tool means: a pure function of name and arguments, for every dialect
/// in docs/tools.md. `args` conforms to the tool's schema; `root` as in ToolContext.
/// Errors: kUsage, reason `tool.unknown`; kInvalid, reason `args.*`, `path.invalid` or `edit.*`;
///         kRefused, reason `path.outside`.
Result<Operation> adapt(std::string_view tool, const nlohmann::json& args, const std::string& root);

/// What an operation will touch, as far as it says.
Result<Intent> intent_of(const Operation& operation);

/// A path argument: relative, or absolute inside `root`.
Result<RelPath> file_argument(const std::string& text, const std::string& root);
/// The same, where the workspace root itself (``, `.`, `/` or `root`) is meant too.
Result<RelPath> directory_argument(const std::string& text, const std::string& root);

}  // namespace galley
