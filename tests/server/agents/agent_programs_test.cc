#include "server/agents/agent_programs.h"

#include <gtest/gtest.h>

#include <string>

#include "base/rel_path.h"
#include "engine/policy/agent_files.h"

namespace galley {
namespace {

/// Relative to the workspace `/project`; empty for a file elsewhere.
std::string below_project(const std::string& file) {
  const std::string root = "/project/";
  return file.starts_with(root) ? file.substr(root.size()) : "";
}

void expect_agent_files(const AgentEntry& entry) {
  for (const std::string& file : entry.files) {
    const auto path = RelPath::parse(below_project(file));
    ASSERT_TRUE(path) << file;
    EXPECT_TRUE(is_agent_file(*path)) << file;
  }
}

TEST(AgentPrograms, EveryInstalledFileIsAnAgentFile) {
  // The home may be a workspace, too.
  const AgentPlaces places = {"/project",        "/project",         "/project/.config",
                              "/project/.codex", "/project/.claude", "/project/.claude.json",
                              "/project/.gemini"};
  size_t files = 0;
  for (const AgentProgram& program : agent_programs()) {
    for (const AgentPart part : {AgentPart::kMcp, AgentPart::kHook, AgentPart::kCommands}) {
      for (const AgentScope scope : {AgentScope::kProject, AgentScope::kUser}) {
        const auto entries = agent_entries(program.name, part, scope, places);
        if (!entries) continue;  // Galley does not write into the files of this agent
        for (const AgentEntry& entry : *entries) {
          expect_agent_files(entry);
          files += entry.files.size();
        }
      }
    }
  }
  EXPECT_GE(files, 15U + 32U);
}

TEST(AgentPrograms, AgentFilesIncludeEverythingBelowThemInAnySpelling) {
  for (const std::string_view place : kAgentFiles) {
    for (const std::string& path :
         {std::string(place), std::string(place) + "/x/y", "a/b/" + std::string(place)}) {
      EXPECT_TRUE(is_agent_file(RelPath::parse(path).value())) << path;
    }
    EXPECT_FALSE(is_agent_file(RelPath::parse("x" + std::string(place)).value())) << place;
    EXPECT_FALSE(is_agent_file(RelPath::parse(std::string(place) + "x").value())) << place;
  }
  for (const char* path : {".Claude/settings.json", ".MCP.JSON", ".claude./x", "OpenCode.json"}) {
    EXPECT_TRUE(is_agent_file(RelPath::parse(path).value())) << path;
  }
}

}  // namespace
}  // namespace galley
