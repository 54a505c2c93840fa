#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tools/registry.h"
#include "tools/tool.h"

namespace galley {

/// The list of tools that one door shows, under the names that its agents already know.
///
/// Invariant: a profile has one tool for each verb, so an agent never has to choose between
///            spellings. Every tool of a profile is one of Galley's own.
/// Threads:   a value; profiles() is immutable.
struct ToolProfile {
  /// A tool and its verb: `read`, `edit`, `run`.
  struct Row {
    std::string tool;
    std::string verb;
  };
  std::string name;
  std::string about;  ///< one line for people
  std::vector<Row> tools;

  /// Whether its door shows the tool. Every door shows the tools that are not Galley's own.
  [[nodiscard]] bool shows(std::string_view tool) const;
  /// Whether one of its tools runs programs.
  [[nodiscard]] bool runs_programs() const;
  /// Errors: kUsage, reason `tool.not_in_profile`, with the nearest name in the profile.
  [[nodiscard]] Result<void> check_shows(std::string_view tool) const;
};

/// All profiles, in the order of docs/reference/tools.md.
[[nodiscard]] const std::vector<ToolProfile>& profiles();

/// Errors: kUsage, reason `profile.unknown`, with the names.
[[nodiscard]] Result<const ToolProfile*> profile_named(std::string_view name);

/// Whether a door without a profile shows the tool. Such a door shows the standard tools in all
/// their dialects, and the tools that are not Galley's own. Other tools need a profile.
[[nodiscard]] bool is_shown_without_profile(std::string_view tool);

/// The tools of a registry that a door shows; `profile` may be null.
[[nodiscard]] std::vector<ToolInfo> shown_tools(const ToolRegistry& registry,
                                                const ToolProfile* profile);

}  // namespace galley
