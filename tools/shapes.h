#pragma once

#include <array>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tools/tool.h"

namespace galley {

/// The form in which one system writes tools and results (docs/tools.md). A row of the table
/// of shapes, with every field set.
struct ToolShape {
  std::string_view name;   ///< as in `--format`
  std::string_view about;  ///< the system with this shape
  /// The definition of a tool as the system needs it before a call.
  nlohmann::ordered_json (*definition)(const ToolInfo& info);
  /// All tools in one document.
  nlohmann::ordered_json (*list)(const ToolShape& shape, const std::vector<ToolInfo>& tools);
  /// The manifest of a tool. In systems without manifests, its definition.
  nlohmann::ordered_json (*manifest)(const ToolInfo& info);
  /// The result of a call, without causes and other internals.
  nlohmann::ordered_json (*result)(const ToolShape& shape, const std::string& tool,
                                   const std::string& call_id, const ToolResult& result);
  /// The system's names of the five codes, in the order of ToolErrorCode.
  std::array<std::string_view, 5> codes;
  /// The system's code for `tool.threw` and other internal failures of a tool.
  std::string_view internal_code;
};

/// Every shape, in the order in which they are listed.
[[nodiscard]] const std::vector<ToolShape>& tool_shapes();
[[nodiscard]] std::vector<std::string> tool_shape_names();

/// The shape of that name.
/// Errors: kUsage, reason `usage.unknown_format`, with the nearest name.
Result<const ToolShape*> tool_shape_named(std::string_view name);

/// The name of an error in a shape.
[[nodiscard]] std::string_view error_code_in(const ToolShape& shape, const ToolError& error);

/// An error as one text: its name in the shape, a colon and its message.
[[nodiscard]] std::string error_line_in(const ToolShape& shape, const ToolError& error);

/// Removes anyOf, oneOf and allOf at the top level of a schema, which interfaces of models refuse.
/// Returns sentences with their content for the tool's description; may be empty.
[[nodiscard]] std::string take_alternatives(nlohmann::ordered_json& schema);

/// A tool's name for systems that allow no dots: `fs.read` is `fs_read`.
[[nodiscard]] std::string name_without_dots(std::string_view name);

}  // namespace galley
