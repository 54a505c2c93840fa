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
/// in docs/tools.md. `args` conforms to the tool's schema.
/// Errors: kUsage, reason `tool.unknown`; kInvalid, reason `args.*`, `path.invalid` or `edit.*`;
///         kRefused, reason `path.outside`.
Result<Operation> adapt(std::string_view tool, const nlohmann::json& args,
                        const PathOrigin& origin);

/// What an operation will touch, as far as it says.
Result<Intent> intent_of(const Operation& operation);

/// A path argument: relative to the origin's folder, from which `../` leads upwards, or absolute
/// inside the workspace.
/// Errors: kInvalid `path.invalid`; kRefused `path.outside`.
Result<RelPath> file_argument(const std::string& text, const PathOrigin& origin);
/// The same, where that folder (``, `.`) and the workspace root may be meant, too.
Result<RelPath> directory_argument(const std::string& text, const PathOrigin& origin);

}  // namespace galley
