#include "tools/mcp/trusted_mcp_server.h"

#include <gmock/gmock.h>

#include <string>

namespace galley {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

json described_tool(const std::string& name, const std::string& description) {
  return {{"name", name}, {"description", description}, {"inputSchema", {{"type", "object"}}}};
}

TrustedMcpServer sample() {
  TrustedMcpServer server;
  server.name = "docs";
  server.command = {"python3", "server.py"};
  server.environment = {{"LANG", "C"}};
  server.readable = {"/opt/docs"};
  server.secrets = {"KEY"};
  server.version = "2025-11-25";
  server.memory_bytes = 1 << 20;
  server.definitions = {described_tool("find", "Finds."), described_tool("show", "Shows.")};
  server.given_ns = 5;
  return server;
}

TEST(TrustedMcpServers, ARecordIsReadBackUnchanged) {
  const TrustedMcpServer server = sample();
  const auto again = TrustedMcpServer::from_json(json(server.to_json()));
  ASSERT_TRUE(again);
  EXPECT_EQ(json(again->to_json()), json(server.to_json()));
  EXPECT_EQ(again->hash(), server.hash());
}

TEST(TrustedMcpServers, AMalformedRecordIsRefused) {
  const json sound = json(sample().to_json());
  ASSERT_TRUE(TrustedMcpServer::from_json(sound));
  for (const auto& [key, value] : sound.items()) {
    if (key == "memory_bytes") continue;
    json broken = sound;
    broken[key] = value.is_number() ? json("x") : json(7);
    EXPECT_FALSE(TrustedMcpServer::from_json(broken)) << key;
  }
}

TEST(TrustedMcpServers, TheHashCoversEverythingExceptTheTime) {
  const ContentId hash = sample().hash();
  TrustedMcpServer other = sample();
  other.given_ns = 6;
  EXPECT_EQ(other.hash(), hash);
  other = sample();
  other.command.push_back("--more");
  EXPECT_NE(other.hash(), hash);
  other = sample();
  other.uses_network = true;
  EXPECT_NE(other.hash(), hash);
  other = sample();
  other.definitions[0]["description"] = "Finds it.";
  EXPECT_NE(other.hash(), hash);
}

TEST(TrustedMcpServers, ChangedAddedAndRemovedDefinitionsAreNamed) {
  const TrustedMcpServer server = sample();
  EXPECT_TRUE(server.check_definitions(server.definitions));
  const std::vector<json> now = {described_tool("find", "Finds, and deletes."),
                                 described_tool("steal", "Steals.")};
  EXPECT_THAT(server.changes_to(now), ElementsAre("~ find: description", "+ steal", "- show"));
  const auto checked = server.check_definitions(now);
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().reason, "tool.definition_changed");
  EXPECT_EQ(checked.error().kind, ErrorKind::kRefused);
  EXPECT_THAT(checked.error().message, HasSubstr("galley tools trust docs"));
}

TEST(TrustedMcpServers, HintsOfTheServerDoNotLowerTheRisk) {
  json definition = described_tool("wipe", "Wipes.");
  definition["annotations"] = {{"readOnlyHint", true},
                               {"destructiveHint", false},
                               {"idempotentHint", true},
                               {"openWorldHint", false}};
  auto info = sample().tool_info(definition);
  ASSERT_TRUE(info) << info.error().message;
  EXPECT_EQ(info->name, "docs.wipe");
  EXPECT_EQ(info->namespace_name, "docs");
  EXPECT_EQ(info->category, ToolInfo::Category::kMcp);
  EXPECT_FALSE(info->annotations.read_only);
  EXPECT_TRUE(info->annotations.destructive);
  EXPECT_FALSE(info->annotations.idempotent);
  EXPECT_TRUE(info->annotations.open_world);
  EXPECT_EQ(info->risk_level, ToolInfo::Risk::kMedium);
  EXPECT_EQ(info->security_tier, ToolInfo::Tier::kElevated);
  EXPECT_EQ(info->timeout, std::chrono::milliseconds(10'000));
  definition["annotations"]["destructiveHint"] = true;
  info = sample().tool_info(definition);
  EXPECT_EQ(info->risk_level, ToolInfo::Risk::kHigh) << "but they may raise it";
}

TEST(TrustedMcpServers, CapabilitiesFollowFromTheTrustedPermissions) {
  TrustedMcpServer server = sample();
  EXPECT_THAT(server.tool_info(server.definitions[0])->capabilities,
              ElementsAre("fs:read", "exec", "fs:write"));
  server.writes = false;
  EXPECT_TRUE(server.tool_info(server.definitions[0])->annotations.read_only);
  server.uses_network = true;
  const auto info = server.tool_info(server.definitions[0]);
  EXPECT_THAT(info->capabilities, ElementsAre("fs:read", "exec", "net:host"));
  EXPECT_FALSE(info->annotations.read_only);
  EXPECT_EQ(info->security_tier, ToolInfo::Tier::kRestricted);
  EXPECT_FALSE(info->is_reversible);
}

TEST(TrustedMcpServers, TextsOfADefinitionAreSanitized) {
  json definition = described_tool("find", "Finds.\x1b[2J \u202e");
  definition["inputSchema"]["properties"]["q"] = {{"description", "the \x1b]0;x\x07 query"}};
  const auto info = sample().tool_info(definition);
  ASSERT_TRUE(info);
  EXPECT_EQ(info->description.find('\x1b'), std::string::npos);
  EXPECT_EQ(info->description.find("\u202e"), std::string::npos);
  EXPECT_EQ(info->input_schema.find("\\u001b"), std::string::npos);
}

TEST(TrustedMcpServers, ASchemaThatIsNotOfAnObjectIsRefused) {
  for (const json& schema : {json(), json(7), json({{"type", "string"}}), json::object()}) {
    json definition = described_tool("find", "Finds.");
    definition["inputSchema"] = schema;
    const auto info = sample().tool_info(definition);
    ASSERT_FALSE(info);
    EXPECT_EQ(info.error().reason, "tool.schema");
  }
}

// Limit: kMaxServerWords of tools/mcp/trusted_mcp_server.h
TEST(TrustedMcpServers, InvalidNamesCommandsAndFoldersAreRefused) {
  const auto reason = [](auto change) {
    TrustedMcpServer server = sample();
    change(server);
    const auto checked = server.check();
    return checked ? std::string() : checked.error().reason;
  };
  EXPECT_EQ(reason([](TrustedMcpServer&) {}), "");
  EXPECT_EQ(reason([](auto& server) { server.name = "a.b"; }), "tool.name");
  EXPECT_EQ(reason([](auto& server) { server.name = "a/b"; }), "tool.name");
  EXPECT_EQ(reason([](auto& server) { server.command.clear(); }), "mcp.command");
  EXPECT_EQ(reason([](auto& server) { server.command = {""}; }), "mcp.command");
  EXPECT_EQ(reason([](auto& server) { server.environment["A B"] = ""; }), "mcp.environment");
  EXPECT_EQ(reason([](auto& server) { server.secrets = {"=x"}; }), "mcp.environment");
  EXPECT_EQ(reason([](auto& server) { server.readable = {"lib"}; }), "mcp.readable");
  EXPECT_EQ(reason([](auto& server) { server.timeout = std::chrono::hours(1); }), "mcp.command");
}

}  // namespace
}  // namespace galley
