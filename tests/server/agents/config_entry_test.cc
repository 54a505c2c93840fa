#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "server/agents/agent_programs.h"
#include "server/agents/json_config_entry.h"
#include "server/agents/toml_config_entry.h"

namespace galley {
namespace {

const AgentPlaces kPlaces = {
    "/p", "/h", "/h/.config", "/h/.codex", "/h/.claude", "/h/.claude.json", "/h/.gemini"};

AgentEntry entry_of(const char* agent, AgentPart part) {
  auto entries = agent_entries(agent, part, AgentScope::kProject, kPlaces);
  EXPECT_TRUE(entries.has_value());
  return entries->front();
}

/// Adds all entries and takes them away, the last one first; the text in between.
std::string expect_comes_back(const AgentEntry& agent, const std::optional<std::string>& text) {
  std::vector<std::optional<std::string>> texts = {text};
  const auto add = [&](const auto& entry) {
    const auto added = entry.add(texts.back(), "FILE");
    ASSERT_TRUE(added.has_value()) << added.error().message;
    EXPECT_NE(texts.back(), *added);
    const auto again = entry.add(*added, "FILE");
    ASSERT_TRUE(again.has_value());
    EXPECT_EQ(*again, *added);
    EXPECT_TRUE(entry.is_installed_in(*added, "FILE").value_or(false));
    texts.emplace_back(*added);
  };
  for (const auto& entry : agent.entries) std::visit(add, entry);
  const std::string with = texts.back().value_or("");
  const auto take_away = [&](const auto& entry) {
    const auto back = entry.remove_entry(texts.back().value_or(""), "FILE");
    ASSERT_TRUE(back.has_value()) << back.error().message;
    texts.pop_back();
    EXPECT_EQ(*back, texts.back());
  };
  for (auto entry = agent.entries.rbegin(); entry != agent.entries.rend(); ++entry) {
    std::visit(take_away, *entry);
  }
  return with;
}

TEST(ConfigEntries, RemovingAnEntryRestoresTheFile) {
  for (const AgentProgram& program : agent_programs()) {
    if (!program.usual) continue;  // Galley does not write its files
    for (const AgentPart part : {AgentPart::kMcp, AgentPart::kHook}) {
      expect_comes_back(entry_of(program.name.data(), part), std::nullopt);
    }
  }
}

TEST(ConfigEntries, JsonEntriesAreAddedToAnExistingObject) {
  const AgentEntry mcp = entry_of("gemini", AgentPart::kMcp);
  const std::string with =
      expect_comes_back(mcp, "{\n  \"mcpServers\": {\n    \"o\": {}\n  }\n}\n");
  EXPECT_LT(with.find("\"galley\""), with.find("\"o\""));
  EXPECT_LT(with.find("mcpServers"), with.find("galley"));
  EXPECT_EQ(with.find("mcpServers"), with.rfind("mcpServers"));
}

TEST(ConfigEntries, RemovingAJsonEntryKeepsAnOriginalEmptyObject) {
  for (const char* text : {"{\"hooks\": {}}", "{}", "{\"hooks\": {\"BeforeTool\": []}}",
                           "{\"hooks\": {\"BeforeTool\": [ ]}}", "{ }", "{\n}"}) {
    expect_comes_back(entry_of("gemini", AgentPart::kHook), text);
  }
}

TEST(ConfigEntries, RemovingATomlEntryRestoresEveryEndOfAFile) {
  for (const char* text : {"", "\n", "\n\n", "a = 1", "a = 1\n", "a = 1\r\n", "# x"}) {
    expect_comes_back(entry_of("codex", AgentPart::kMcp), text);
    expect_comes_back(entry_of("codex", AgentPart::kHook), text);
  }
}

TEST(ConfigEntries, ForeignEntriesAreRefusedWithTheirLine) {
  const AgentEntry json = entry_of("claude", AgentPart::kMcp);
  const auto in_json = std::get<JsonConfigEntry>(json.entries.front())
                           .add("{\n\"mcpServers\": {\n\"galley\": {}}}", "FILE");
  ASSERT_FALSE(in_json.has_value());
  EXPECT_EQ(in_json.error().reason, "agents.foreign_entry");
  EXPECT_EQ(in_json.error().message.substr(0, 7), "FILE:3:");
  const AgentEntry toml = entry_of("codex", AgentPart::kMcp);
  const auto in_toml = std::get<TomlConfigEntry>(toml.entries.front())
                           .add("\n[mcp_servers.galley]\ncommand = \"x\"\n", "FILE");
  ASSERT_FALSE(in_toml.has_value());
  EXPECT_EQ(in_toml.error().reason, "agents.foreign_entry");
  EXPECT_EQ(in_toml.error().message.substr(0, 7), "FILE:2:");
}

std::string with(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = text.find(from); at != text.npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

TEST(ConfigEntries, AnEditedHookIsNeitherDoubledNorRemoved) {
  for (const char* agent : {"claude", "codex", "gemini"}) {
    const AgentEntry hook = entry_of(agent, AgentPart::kHook);
    std::optional<std::string> text;
    for (const auto& entry : hook.entries) {
      text = std::visit([&](const auto& one) { return one.add(text, "FILE").value(); }, entry);
    }
    const std::string name = std::string("--agent ") + agent;
    const std::string edited = with(*text, name, name + " --allow-tool NotebookEdit");
    const auto reason_of = [](const auto& result) {
      return result.has_value() ? "done" : result.error().reason;
    };
    const auto& first = hook.entries.front();
    const auto added = std::visit([&](const auto& one) { return one.add(edited, "FILE"); }, first);
    EXPECT_EQ(reason_of(added), "agents.foreign_entry") << agent;
    const auto removed =
        std::visit([&](const auto& one) { return one.remove_entry(edited, "FILE"); }, first);
    EXPECT_EQ(reason_of(removed), "agents.foreign_entry") << agent;
  }
}

TEST(ConfigEntries, AnEntryThatCannotBeAddedIsAnError) {
  const AgentEntry toml = entry_of("codex", AgentPart::kMcp);
  for (const char* text : {"mcp_servers = {}\n", "mcp_servers = 1", "[[mcp_servers]]\n", "a = "}) {
    const auto added = std::get<TomlConfigEntry>(toml.entries.front()).add(text, "FILE");
    ASSERT_FALSE(added.has_value()) << text;
    EXPECT_EQ(added.error().reason, "agents.configuration");
  }
  const AgentEntry json = entry_of("claude", AgentPart::kHook);
  for (const char* text : {"", "[]", "{", "{\"hooks\": []}", "{\"hooks\": {\"PreToolUse\": {}}}"}) {
    EXPECT_FALSE(std::get<JsonConfigEntry>(json.entries.front()).add(text, "FILE").has_value())
        << text;
  }
}

TEST(OwnFiles, AreOursAsLongAsTheirMarkMatches) {
  const GeneratedFile own("#!/bin/sh\n", "#", "echo new\n");
  const GeneratedFile older("#!/bin/sh\n", "#", "echo old\n");
  const auto text = older.add(std::nullopt, "FILE");
  ASSERT_TRUE(text.has_value());
  EXPECT_TRUE(own.is_installed_in(*text, "FILE").value_or(false));
  EXPECT_TRUE(own.add(*text, "FILE").has_value());
  EXPECT_EQ(own.remove_entry(*text, "FILE").value(), std::nullopt);
  const std::string changed = *text + "more\n";
  EXPECT_EQ(own.add(changed, "FILE").error().reason, "agents.foreign_entry");
  EXPECT_EQ(own.remove_entry(changed, "FILE").error().reason, "agents.foreign_entry");
  EXPECT_FALSE(own.is_installed_in("", "FILE").value_or(true));
}

TEST(JsonLayout, CommentsAndTrailingCommasBecomeSpaces) {
  EXPECT_EQ(plain_json("{\"a\": 1, // x\n}"), "{\"a\": 1      \n}");
  EXPECT_EQ(plain_json("[1,/*\n*/]"), "[1   \n  ]");
  EXPECT_EQ(plain_json("{\"//\": \"/*\\\"\"}"), "{\"//\": \"/*\\\"\"}");
  EXPECT_EQ(plain_json("{,}"), "{,}");
  EXPECT_EQ(plain_json("[1,,]"), "[1,,]");
  EXPECT_EQ(plain_json("/* x"), "/* x");
}

TEST(JsonLayout, ItemsHaveTheirKeysAndPositions) {
  const std::string text = R"({ "a" : [1, {"b": "},"}], "c\"" :{} })";
  const auto items = items_of(text, 0);
  ASSERT_EQ(items.size(), 2U);
  EXPECT_EQ(items[0].key, "a");
  EXPECT_EQ(text.substr(items[0].value.begin, items[0].value.end - items[0].value.begin),
            R"([1, {"b": "},"}])");
  EXPECT_EQ(items[1].key, R"(c\")");
  EXPECT_EQ(items_of(text, items[0].value.begin).size(), 2U);
  EXPECT_TRUE(items_of(text, items[1].value.begin).empty());
}

}  // namespace
}  // namespace galley
