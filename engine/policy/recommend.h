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

/// The programs of this machine, for the commands of a configuration.
struct FoundPrograms {
  /// Whether a program can be run; empty: all programs can.
  std::function<bool(std::string_view)> has;
  /// Returns the folders of `sandbox.readable` that a program needs: none in a system folder.
  std::function<std::vector<std::string>(std::string_view)> folders;
  bool has_grammars = false;  ///< galley-syntax is installed
};

/// How found commands are written: as comments, or as validators.
enum class FoundCommands : uint8_t { kAsComments, kSwitchedOn };

/// Returns the text of a galley.toml for the languages, formatters and tests of this workspace.
/// Safe settings are on. Stricter rules are comments, as are commands unless `commands` says
/// otherwise. A command is included only if its program exists and the workspace configures it.
[[nodiscard]] Result<std::string> recommended_config(
    const Directory& root, const FoundPrograms& programs = {},
    FoundCommands commands = FoundCommands::kAsComments);

/// The languages and tools that a workspace seems to use and configures.
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
  std::map<std::string, bool> unittest_folders;  ///< folders with unittest's tests; true: a package

  [[nodiscard]] bool has(std::initializer_list<std::string_view> any) const {
    return std::any_of(any.begin(), any.end(), [this](std::string_view one) {
      return extensions.contains(std::string(one)) || root_entries.contains(std::string(one));
    });
  }
  /// Whether a name in the root begins with `prefix`.
  [[nodiscard]] bool has_root_prefix(std::string_view prefix) const {
    const auto at = root_entries.lower_bound(std::string(prefix));
    return at != root_entries.end() && at->starts_with(prefix);
  }
};

/// Looks at the names of a limited number of files, and reads configuration files. An unreadable
/// file counts as missing.
[[nodiscard]] Result<ProjectSurvey> survey_project(const Directory& root);

/// A command validator for one tool that a workspace has and configures.
struct RecommendedCommand {
  std::string name;
  std::vector<std::string> command;
  std::string program;   ///< a required program, in addition to the workspace's own files
  std::string keys;      ///< the other keys, as TOML, a line each
  bool is_there = true;  ///< whether `program` was found
};

/// Returns the commands for a workspace.
[[nodiscard]] std::vector<RecommendedCommand> recommended_commands(const ProjectSurvey& found,
                                                                   const FoundPrograms& programs);

/// Returns the `[[validator]]` table of a command.
[[nodiscard]] std::string command_text(const RecommendedCommand& command);

}  // namespace galley
