#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "staging/fs/directory.h"

namespace galley {

/// What the machine has for the commands that a configuration names.
struct FoundPrograms {
  /// Whether a program can be run; empty: all can.
  std::function<bool(std::string_view)> has;
  /// The folders of `sandbox.readable` that a program needs; none where it lies in the system's.
  std::function<std::vector<std::string>(std::string_view)> folders;
  bool has_grammars = false;  ///< galley-syntax is installed
};

/// What becomes of the commands that are found.
enum class FoundCommands : uint8_t { kAsComments, kSwitchedOn };

/// Text of a galley.toml for the languages, formatters and tests found in this workspace: what is
/// safe is on, commands (unless they are asked for) and stricter rules are there as comments. A
/// command is proposed only where its program is there and what it judges is configured.
[[nodiscard]] Result<std::string> recommended_config(
    const Directory& root, const FoundPrograms& programs = {},
    FoundCommands commands = FoundCommands::kAsComments);

/// What a workspace seems to be made of, and what it configures.
struct ProjectSurvey {
  std::set<std::string> extensions;            ///< `.c`
  std::set<std::string> root_entries;          ///< names of files and folders
  std::map<std::string, std::string> scripts;  ///< of package.json
  std::set<std::string> packages;              ///< its dependencies of every kind
  std::set<std::string> package_programs;      ///< names in node_modules/.bin
  std::set<std::string> make_targets;
  std::string cmake;                             ///< CMakeLists.txt of the root
  std::set<std::string> python_tools;            ///< tables below [tool] of pyproject.toml
  bool uses_pytest = false;                      ///< configured, or imported by a test
  std::map<std::string, bool> unittest_folders;  ///< of unittest's tests; whether it is a package

  [[nodiscard]] bool has(std::initializer_list<std::string_view> any) const {
    return std::any_of(any.begin(), any.end(), [this](std::string_view one) {
      return extensions.contains(std::string(one)) || root_entries.contains(std::string(one));
    });
  }
  /// A name in the root that begins like this.
  [[nodiscard]] bool has_root_prefix(std::string_view prefix) const {
    const auto at = root_entries.lower_bound(std::string(prefix));
    return at != root_entries.end() && at->starts_with(prefix);
  }
};

/// Looks at the names of a bounded number of files and into those that configure something; what
/// cannot be read is as if it were not there.
[[nodiscard]] Result<ProjectSurvey> survey_project(const Directory& root);

/// A command validator for one thing that a workspace has and configures.
struct RecommendedCommand {
  std::string name;
  std::vector<std::string> command;
  std::string program;   ///< what it needs besides the workspace's own files
  std::string keys;      ///< the other keys, as TOML, a line each
  bool is_there = true;  ///< whether `program` was found
};

[[nodiscard]] std::vector<RecommendedCommand> recommended_commands(const ProjectSurvey& found,
                                                                   const FoundPrograms& programs);

/// Its `[[validator]]` table.
[[nodiscard]] std::string command_text(const RecommendedCommand& command);

}  // namespace galley
