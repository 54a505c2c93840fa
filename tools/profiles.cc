#include "tools/profiles.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "base/nearest_name.h"
#include "tools/catalogue.h"

namespace galley {
namespace {

/// Galley's own, and those of agents and servers that exist.
std::vector<ToolProfile> profiles_of_agents() {
  return {
      {"native",
       "Galley's own names, each verb once",
       {{"Read", "read"},
        {"Write", "write"},
        {"Edit", "edit"},
        {"Delete", "delete"},
        {"Move", "move"},
        {"Copy", "copy"},
        {"Chmod", "chmod"},
        {"Symlink", "link"},
        {"MakeDirectory", "make directory"},
        {"List", "list"},
        {"Glob", "find"},
        {"Grep", "search"},
        {"Bash", "run"},
        {"GraphQuery", "query"},
        {"git_status", "git status"},
        {"git_diff", "git diff"},
        {"git_commit", "git commit"},
        {"sec.grant", "grant"},
        {"sec.revoke", "revoke"}}},
      {"claude",
       "Claude Code",
       {{"Read", "read"},
        {"Write", "write"},
        {"Edit", "edit"},
        {"Glob", "find"},
        {"Grep", "search"},
        {"Bash", "run"}}},
      {"openai",
       "Codex and other agents that write V4A patches",
       {{"Read", "read"},
        {"apply_patch", "edit"},
        {"List", "list"},
        {"Glob", "find"},
        {"Grep", "search"},
        {"Bash", "run"}}},
      {"gemini",
       "Gemini CLI",
       {{"read_file", "read"},
        {"write_file", "write"},
        {"replace", "edit"},
        {"list_directory", "list"},
        {"glob", "find"},
        {"search_file_content", "search"},
        {"run_shell_command", "run"}}},
      {"mcp-fs",
       "the file system server of the Model Context Protocol",
       {{"read_text_file", "read"},
        {"write_file", "write"},
        {"edit_file", "edit"},
        {"create_directory", "make directory"},
        {"list_directory", "list"},
        {"directory_tree", "list tree"},
        {"move_file", "move"},
        {"search_files", "find"},
        {"get_file_info", "stat"}}},
  };
}

/// Those of the five documents about tools (docs/specs).
std::vector<ToolProfile> profiles_of_documents() {
  return {
      {"sage",
       "the standard tools of SAGE's contract",
       {{"Read", "read"},
        {"Write", "write"},
        {"Edit", "edit"},
        {"Bash", "run"},
        {"GraphQuery", "query"}}},
      {"tenex",
       "TENEX' own tools, and those that it knows of Claude Code",
       {{"read_specs", "read specs"},
        {"update_spec", "update spec"},
        {"remember_lesson", "remember"},
        {"find_agent", "find agent"},
        {"read_file", "read"},
        {"write_file", "write"},
        {"edit_file", "edit"},
        {"create_directory", "make directory"},
        {"list_directory", "list"},
        {"search_code", "search"},
        {"analyze_dependencies", "analyze dependencies"},
        {"find_references", "find references"},
        {"run_command", "run"},
        {"run_tests", "run tests"},
        {"build_project", "build"},
        {"git_status", "git status"},
        {"git_commit", "git commit"},
        {"git_diff", "git diff"}}},
      {"aios",
       "aiOS' fs.* tools; its agents never run a shell",
       {{"fs.read", "read"},
        {"fs.write", "write"},
        {"fs.delete", "delete"},
        {"fs.list", "list"},
        {"fs.stat", "stat"},
        {"fs.mkdir", "make directory"},
        {"fs.move", "move"},
        {"fs.copy", "copy"},
        {"fs.chmod", "chmod"},
        {"fs.chown", "chown"},
        {"fs.symlink", "link"},
        {"fs.search", "find"},
        {"fs.disk_usage", "measure"}}},
      {"nachos", "Nachos' one tool of the file system", {{"filesystem", "read and write"}}},
      {"faultmaven",
       "an agent that looks into a failure: it reads, and runs what it is allowed to",
       {{"Read", "read"},
        {"List", "list"},
        {"Glob", "find"},
        {"Grep", "search"},
        {"Bash", "run"},
        {"GraphQuery", "query"}}},
  };
}

const std::set<std::string, std::less<>>& standard_names() {
  static const std::set<std::string, std::less<>> table = [] {
    std::set<std::string, std::less<>> names;
    for (const ToolInfo& info : native_tools()) names.insert(info.name);
    for (const ToolInfo& info : peer_tools()) names.insert(info.name);
    return names;
  }();
  return table;
}

bool is_in_some_profile(std::string_view tool) {
  const auto lists = [&](const ToolProfile& profile) {
    return std::any_of(profile.tools.begin(), profile.tools.end(),
                       [&](const ToolProfile::Row& row) { return row.tool == tool; });
  };
  return std::any_of(profiles().begin(), profiles().end(), lists);
}

bool is_own_of_galley(std::string_view tool) {
  return standard_names().contains(tool) || is_in_some_profile(tool);
}

}  // namespace

const std::vector<ToolProfile>& profiles() {
  static const std::vector<ToolProfile> table = [] {
    std::vector<ToolProfile> all = profiles_of_agents();
    for (ToolProfile& profile : profiles_of_documents()) all.push_back(std::move(profile));
    return all;
  }();
  return table;
}

Result<const ToolProfile*> profile_named(std::string_view name) {
  std::vector<std::string> names;
  for (const ToolProfile& profile : profiles()) {
    if (profile.name == name) return &profile;
    names.emplace_back(profile.name);
  }
  std::string all;
  for (const std::string& one : names) all += (all.empty() ? "" : ", ") + one;
  return fail(ErrorKind::kUsage, "profile.unknown",
              "there is no profile of tools named '" + std::string(name) + "'; there are " + all +
                  did_you_mean(name, names));
}

bool ToolProfile::shows(std::string_view tool) const {
  const bool is_listed =
      std::any_of(tools.begin(), tools.end(), [&](const Row& row) { return row.tool == tool; });
  return is_listed || !is_own_of_galley(tool);
}

bool ToolProfile::runs_programs() const {
  return std::any_of(tools.begin(), tools.end(), [](const Row& row) { return row.verb == "run"; });
}

Result<void> ToolProfile::check_shows(std::string_view tool) const {
  if (shows(tool)) return {};
  std::vector<std::string> names;
  for (const Row& row : tools) names.emplace_back(row.tool);
  return fail(ErrorKind::kUsage, "tool.not_in_profile",
              "the profile '" + std::string(name) + "' has no tool named '" + std::string(tool) +
                  "'" + did_you_mean(tool, names) + "; galley tools list --profile " +
                  std::string(name) + " shows those that it has");
}

bool is_shown_without_profile(std::string_view tool) {
  return standard_names().contains(tool) || !is_in_some_profile(tool);
}

std::vector<ToolInfo> shown_tools(const ToolRegistry& registry, const ToolProfile* profile) {
  std::vector<ToolInfo> shown = registry.list();
  std::erase_if(shown, [&](const ToolInfo& info) {
    return profile != nullptr ? !profile->shows(info.name) : !is_shown_without_profile(info.name);
  });
  return shown;
}

}  // namespace galley
