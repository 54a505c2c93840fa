#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "tools/registry.h"
#include "tools/tool.h"

namespace galley {

/// One point of a checklist for tools.
struct ToolCheckPoint {
  enum class Outcome : uint8_t { kMet, kNotMet, kNotChecked };
  std::string name;
  Outcome outcome = Outcome::kNotChecked;
  std::string message;  ///< the observation, or why a program cannot judge it
};

/// A call in a transaction that is then discarded.
struct ToolTrial {
  std::string arguments;
  bool is_wrong = false;  ///< the arguments were made so that they do not conform
  ToolResult result;
};

/// Arguments that the tool must refuse. Each of its examples is used with a member of another type
/// and with an unknown member. If some members are required, an empty object is added.
[[nodiscard]] std::vector<std::string> wrong_arguments(const ToolInfo& info);

/// The twelve points of FaultMaven's compliance list. `documentation` is the page about the tool.
[[nodiscard]] std::vector<ToolCheckPoint> check_tool(const ToolRegistry::Entry& entry,
                                                     const std::vector<ToolTrial>& trials,
                                                     std::string_view documentation);

/// One point for each of the seven headings of a tool's documentation.
[[nodiscard]] std::vector<ToolCheckPoint> check_tool_documentation(std::string_view text);

/// Whether a text has any of the headings.
[[nodiscard]] bool has_tool_heading(std::string_view text);

/// The document of `galley tools check --json`.
[[nodiscard]] nlohmann::ordered_json checklist_json(const std::string& tool,
                                                    const std::vector<ToolCheckPoint>& points,
                                                    const std::vector<ToolCheckPoint>& headings);

}  // namespace galley
