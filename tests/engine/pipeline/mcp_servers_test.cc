#include "engine/pipeline/mcp_servers.h"

#include <gmock/gmock.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/temp_directory.h"

namespace galley {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// A workspace, and a home outside the workspace.
class McpServersKept : public ::testing::Test {
 protected:
  McpServersKept() {
    settings_.tools_path = home_.path() + "/tools";
    root_ = tree_.path();
  }

  static TrustedMcpServer server(const std::string& name) {
    TrustedMcpServer made;
    made.name = name;
    made.command = {"server"};
    made.version = "2025-11-25";
    made.definitions = {json{{"name", "echo"}, {"inputSchema", {{"type", "object"}}}}};
    return made;
  }
  std::vector<std::string> names() {
    const auto kept = trusted_mcp_servers(settings_, root_);
    EXPECT_TRUE(kept) << kept.error().message;
    std::vector<std::string> all;
    for (const TrustedMcpServer& one : *kept) all.push_back(one.name);
    return all;
  }

  TempDirectory tree_;
  TempDirectory home_;
  UserSettings settings_;
  std::string root_;
};

TEST_F(McpServersKept, ServersAreStoredUntilTheyAreRemoved) {
  EXPECT_THAT(names(), IsEmpty());
  ASSERT_TRUE(trust_mcp_server(settings_, root_, server("b")));
  ASSERT_TRUE(trust_mcp_server(settings_, root_, server("a")));
  EXPECT_THAT(names(), ElementsAre("a", "b"));
  EXPECT_TRUE(*forget_mcp_server(settings_, root_, "a"));
  EXPECT_FALSE(*forget_mcp_server(settings_, root_, "a"));
  EXPECT_FALSE(*forget_mcp_server(settings_, root_, "../b"));
  EXPECT_THAT(names(), ElementsAre("b"));
}

TEST_F(McpServersKept, AServerReplacesAnEarlierOneWithItsName) {
  ASSERT_TRUE(trust_mcp_server(settings_, root_, server("a")));
  TrustedMcpServer other = server("a");
  other.command = {"other"};
  ASSERT_TRUE(trust_mcp_server(settings_, root_, other));
  EXPECT_THAT(trusted_mcp_servers(settings_, root_)->front().command, ElementsAre("other"));
}

TEST_F(McpServersKept, ServersBelongToOneWorkspace) {
  ASSERT_TRUE(trust_mcp_server(settings_, root_, server("a")));
  EXPECT_THAT(*trusted_mcp_servers(settings_, home_.path()), IsEmpty());
}

TEST_F(McpServersKept, ServersAreNeverStoredInsideTheWorkspace) {
  settings_.tools_path = root_ + "/state";
  EXPECT_EQ(trust_mcp_server(settings_, root_, server("a")).error().reason, "trust.no_place");
  settings_.tools_path.clear();
  EXPECT_EQ(trust_mcp_server(settings_, root_, server("a")).error().reason, "trust.no_place");
}

// Limit: kMaxMcpServers of engine/pipeline/mcp_servers.h
TEST_F(McpServersKept, TooManyServersAreRefused) {
  for (size_t i = 0; i < kMaxMcpServers; ++i) {
    ASSERT_TRUE(trust_mcp_server(settings_, root_, server("s" + std::to_string(i))));
  }
  EXPECT_EQ(trust_mcp_server(settings_, root_, server("more")).error().reason, "limit.mcp_record");
  EXPECT_TRUE(trust_mcp_server(settings_, root_, server("s0"))) << "in its own place";
}

TEST_F(McpServersKept, ATooLongRecordIsRefused) {
  TrustedMcpServer large = server("a");
  large.definitions[0]["description"] = std::string(TrustedMcpServer::kMaxRecordBytes, 'x');
  EXPECT_EQ(trust_mcp_server(settings_, root_, large).error().reason, "limit.mcp_record");
}

TEST_F(McpServersKept, InvalidToolsOfAServerAreLeftOut) {
  TrustedMcpServer odd = server("a");
  odd.definitions.push_back({{"name", "bad name"}, {"inputSchema", {{"type", "object"}}}});
  odd.definitions.push_back({{"name", "none"}});
  odd.definitions.push_back(
      {{"name", "remote"},
       {"inputSchema", {{"type", "object"}}},
       {"outputSchema", {{"type", "object"}, {"properties", {{"x", {{"$ref", "https://x/y"}}}}}}}});
  ToolRegistry registry;
  const auto left_out = add_mcp_tools(registry, std::make_shared<const TrustedMcpServer>(odd));
  ASSERT_THAT(left_out, SizeIs(3));
  EXPECT_EQ(left_out[0].second.reason, "tool.name");
  EXPECT_EQ(left_out[1].second.reason, "tool.schema");
  EXPECT_EQ(left_out[2].second.reason, "tool.schema");
  EXPECT_TRUE(registry.has("a.echo"));
  EXPECT_FALSE(registry.has("a.remote"));
}

}  // namespace
}  // namespace galley
