#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace galley {

/// Reads calls in Python's syntax, as Gemini writes them in a fence `tool_code`:
///
///     print(default_api.Edit(file_path="a.py", old_string="x", new_string='y'))
///
/// Each statement is one call, perhaps of `print`. All arguments have names, and are literals of
/// text, numbers, True, False, None, lists and dictionaries. Returns names of tools, without
/// `default_api.`, and their arguments.
/// Errors: kInvalid, reason `call_text.value`, for all other code.
Result<std::vector<std::pair<std::string, nlohmann::json>>> read_python_calls(
    std::string_view code);

}  // namespace galley
