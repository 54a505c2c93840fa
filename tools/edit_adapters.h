#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/result.h"
#include "tools/operation.h"
#include "tools/tool.h"

namespace galley {

/// The edit dialects of docs/tools.md as EditSets; contracts as adapt().
Result<Operation> adapt_edit(const nlohmann::json& args, const PathOrigin& origin);
Result<Operation> adapt_multi_edit(const nlohmann::json& args, const PathOrigin& origin);
Result<Operation> adapt_apply_patch(const nlohmann::json& args, const PathOrigin& origin);
Result<Operation> adapt_text_editor(const nlohmann::json& args, const PathOrigin& origin);
Result<Operation> adapt_replace(const nlohmann::json& args, const PathOrigin& origin);
Result<Operation> adapt_edit_file(const nlohmann::json& args, const PathOrigin& origin);

}  // namespace galley
