#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "tools/registry.h"
#include "tools/tool.h"

namespace galley {

/// One point of a list that a tool has to meet.
struct ToolCheckPoint {
  enum class Outcome : uint8_t { kMet, kNotMet, kNotChecked };
  std::string name;
  Outcome outcome = Outcome::kNotChecked;
  std::string message;  ///< what was seen, or why a program cannot judge it
};

/// A call that was made in a transaction that is thrown away.
struct ToolTrial {
  std::string arguments;
  bool is_wrong = false;  ///< the arguments were made not to conform
  ToolResult result;
};

/// Arguments that the tool must refuse: each of its examples with a member of another type, with an
/// unknown member, and none at all where some are required.
[[nodiscard]] std::vector<std::string> wrong_arguments(const ToolInfo& info);

/// The twelve points of FaultMaven's compliance list. `documentation` is the page about the tool.
[[nodiscard]] std::vector<ToolCheckPoint> check_tool(const ToolRegistry::Entry& entry,
                                                     const std::vector<ToolTrial>& trials,
                                                     std::string_view documentation);

/// One point for each of the seven headings that the documentation of a tool has.
[[nodiscard]] std::vector<ToolCheckPoint> check_tool_documentation(std::string_view text);

/// Whether a text has one of the headings at all.
[[nodiscard]] bool has_tool_heading(std::string_view text);

/// The document of `galley tools check --json`.
[[nodiscard]] nlohmann::ordered_json checklist_json(const std::string& tool,
                                                    const std::vector<ToolCheckPoint>& points,
                                                    const std::vector<ToolCheckPoint>& headings);

}  // namespace galley
