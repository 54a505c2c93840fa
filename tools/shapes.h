#pragma once

#include <array>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tools/tool.h"

namespace galley {

/// One system in whose own shape tools and results are written (docs/tool-shapes.md): a row of the
/// one table, in which nothing is missing.
struct ToolShape {
  std::string_view name;   ///< as `--format` has it
  std::string_view about;  ///< whose shape it is
  /// What the system wants to know of a tool before it calls it.
  nlohmann::ordered_json (*definition)(const ToolInfo& info);
  /// All tools in one document.
  nlohmann::ordered_json (*list)(const ToolShape& shape, const std::vector<ToolInfo>& tools);
  /// The manifest of a tool; where the system has none, its definition.
  nlohmann::ordered_json (*manifest)(const ToolInfo& info);
  /// What came of a call. Neither a cause nor anything else of the inside is in it.
  nlohmann::ordered_json (*result)(const ToolShape& shape, const std::string& tool,
                                   const std::string& call_id, const ToolResult& result);
  /// What the five codes are called there, in the order of ToolErrorCode.
  std::array<std::string_view, 5> codes;
  /// What `tool.threw` and other failures of a tool's inside are called there.
  std::string_view internal_code;
};

/// Every shape, in the order in which they are listed.
[[nodiscard]] const std::vector<ToolShape>& tool_shapes();
[[nodiscard]] std::vector<std::string> tool_shape_names();

/// The shape of that name.
/// Errors: kUsage, reason `usage.unknown_format`, with the nearest name.
Result<const ToolShape*> tool_shape_named(std::string_view name);

/// What an error is called in a shape.
[[nodiscard]] std::string_view error_code_in(const ToolShape& shape, const ToolError& error);

/// A tool's name where dots may not stand: `fs.read` is `fs_read`.
[[nodiscard]] std::string name_without_dots(std::string_view name);

}  // namespace galley
