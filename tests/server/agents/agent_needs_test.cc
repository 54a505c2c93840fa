#include "server/agents/agent_needs.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace galley {
namespace {

TEST(AgentNeeds, AProgramIsKnownByItsNameWhereverItIs) {
  for (const char* word : {"codex", "/opt/bin/codex", "./codex"}) {
    ASSERT_NE(agent_of_program(word), nullptr) << word;
    EXPECT_EQ(agent_of_program(word)->name, "codex");
  }
  for (const char* word : {"", "/", "codex/", "Codex", "codex.sh", "bash"}) {
    EXPECT_EQ(agent_of_program(word), nullptr) << word;
  }
}

TEST(AgentNeeds, EachRowIsComplete) {
  std::set<std::string_view> names;
  for (const AgentProgram& agent : agent_programs()) {
    EXPECT_TRUE(names.insert(agent.name).second) << agent.name;
    EXPECT_FALSE(agent.title.empty() || agent.login.empty()) << agent.name;
    EXPECT_FALSE(agent.hosts.empty() || agent.variables.empty()) << agent.name;
    const AgentNeeds needs = agent_needs(agent, "/home/ada");
    ASSERT_FALSE(needs.writable.empty()) << agent.name;
    for (const std::string& folder : needs.writable) {
      EXPECT_TRUE(folder.starts_with("/home/ada/.")) << folder;
    }
  }
}

TEST(AgentNeeds, ClineInARunDoesNotUseItsDaemonOutside) {
  const AgentNeeds needs = agent_needs(*agent_of_program("cline"), "/home/ada");
  EXPECT_EQ(needs.settings.at("CLINE_SESSION_BACKEND_MODE"), "local");
}

TEST(AgentNeeds, TextShowsEveryCharacter) {
  AgentNeeds needs = agent_needs(*agent_of_program("codex"), "/home/ada");
  needs.program = "/home/ada/a\x1b[2J\nwrite nothing/codex";
  const std::string text = needs.text();
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find("\nwrite nothing"), std::string::npos);
  EXPECT_NE(text.find("write /home/ada/.codex"), std::string::npos);
}

TEST(AgentNeeds, TextSaysThatTheNetworkIsNotLimitedToTheHosts) {
  const std::string text = agent_needs(*agent_of_program("codex"), "/home/ada").text();
  EXPECT_NE(text.find("use the whole network of this machine (it needs "), std::string::npos);
}

TEST(AgentNeeds, ConsentIsToExactlyItsText) {
  AgentNeeds needs = agent_needs(*agent_of_program("codex"), "/home/ada");
  const AgentEntry entry = consent_entry(needs, "/state/agents");
  EXPECT_EQ(entry.files, std::vector<std::string>{"/state/agents/codex"});
  const auto text = std::get<GeneratedFile>(entry.entries.front()).add(std::nullopt, "FILE");
  needs.readable.emplace_back("/home/ada/more");
  const AgentEntry other = consent_entry(needs, "/state/agents");
  EXPECT_NE(*text, *std::get<GeneratedFile>(other.entries.front()).add(std::nullopt, "FILE"));
}

TEST(MissingSettings, AReadOnlyFolderIsNamedWithTheOption) {
  const AgentProgram& codex = *agent_of_program("codex");
  for (const char* said : {"sh: 1: cannot create /srv/data/a.txt: Read-only file system\n",
                           "Error: EROFS: read-only file system, open '/srv/data/a.txt'\n",
                           "\x1b[31mfailed (path=/srv/data/a.txt): read-only file system"}) {
    const auto missing = missing_settings(codex, said, "/home/ada");
    ASSERT_EQ(missing.size(), 1U) << said;
    EXPECT_NE(missing.front().find("could not write /srv/data/a.txt,"), std::string::npos) << said;
    EXPECT_NE(missing.front().find("--allow-write /srv/data,"), std::string::npos) << said;
  }
  const auto nameless = missing_settings(codex, "os error 30: Read-only file system", "/home/ada");
  ASSERT_EQ(nameless.size(), 1U);
  EXPECT_NE(nameless.front().find("--allow-write FOLDER"), std::string::npos);
  EXPECT_EQ(missing_settings(codex, "EROFS " + std::string(1000, '/'), "/home/ada").size(), 1U);
}

TEST(MissingSettings, AFolderThatNoRunMayWriteIsNotOffered) {
  const AgentProgram& codex = *agent_of_program("codex");
  for (const char* path : {"/home/ada/.npmrc", "/home/ada/.ssh/config", "/var/lib/dpkg/lock",
                           "/srv/../home/ada/a", "/a", "/etc/x", "/usr/lib/x"}) {
    const auto missing =
        missing_settings(codex, "open '" + std::string(path) + "': EROFS", "/home/ada");
    ASSERT_EQ(missing.size(), 1U) << path;
    EXPECT_NE(missing.front().find(path), std::string::npos);
    EXPECT_EQ(missing.front().find("--allow-write"), std::string::npos) << missing.front();
    EXPECT_EQ(missing.front().find("--layer"), std::string::npos) << missing.front();
  }
}

TEST(MissingSettings, ALoginIsNamedWithItsCommand) {
  const AgentProgram& claude = *agent_of_program("claude");
  for (const char* said :
       {"Not logged in \xc2\xb7 Please run /login", "401 Unauthorized", "Error: Invalid API key",
        "Please set an Auth method in your settings.json", "No auth type is selected",
        "No provider configured"}) {
    const auto missing = missing_settings(claude, said, "/home/ada");
    ASSERT_EQ(missing.size(), 1U) << said;
    EXPECT_NE(missing.front().find("ANTHROPIC_API_KEY"), std::string::npos);
  }
  EXPECT_TRUE(missing_settings(claude, "", "/home/ada").empty());
  EXPECT_TRUE(missing_settings(claude, "error: build failed\n", "/home/ada").empty());
}

}  // namespace
}  // namespace galley
