#include "tools/mcp/mcp_tool.h"

#include <gmock/gmock.h>
#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "doubles/fake_command_runner.h"
#include "staging/sandbox/process_streams.h"
#include "tools/tool_fixture.h"

namespace galley {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

json listed_tool(const std::string& name) {
  return {{"name", name}, {"inputSchema", {{"type", "object"}}}};
}

/// Tools of a server that a function plays: it gets a message and returns the server's output.
class McpTools : public ToolFixture {
 protected:
  McpTools() {
    commands_ = &runner_;
    capabilities_ = {"fs:read", "fs:write", "exec:*"};
    server_.name = "srv";
    server_.command = {"/opt/server", "--stdio"};
    server_.readable = {"/opt"};
    server_.environment = {{"A", "b"}};
    server_.version = "2025-11-25";
    server_.definitions = {listed_tool("echo"), listed_tool("other")};
  }

  void add() {
    const auto shared = std::make_shared<const TrustedMcpServer>(server_);
    for (const json& definition : server_.definitions) {
      auto made = make_mcp_tool(shared, definition);
      ASSERT_TRUE(made) << made.error().message;
      const auto added = registry_.add(*std::move(made));
      ASSERT_TRUE(added) << added.error().message;
    }
  }

  std::string answer(const json& message) {
    if (!message.contains("id")) return {};
    json result;
    if (message["method"] == "initialize") {
      result = {{"protocolVersion", "2025-11-25"}};
    } else if (message["method"] == "tools/list") {
      result = {{"tools", listed_}};
    } else {
      called_ = message["params"];
      result = result_;
    }
    return json({{"jsonrpc", "2.0"}, {"id", message["id"]}, {"result", result}}).dump() + "\n";
  }

  /// Plays the server: reads what was fed until its input ends.
  CommandResult play(const Command& command) {
    std::string pending;
    while (true) {
      pollfd wanted = command.input_relay->wanted();
      if (wanted.fd >= 0) {
        wanted.revents = POLLOUT;
        command.input_relay->advance(wanted);
      }
      pollfd readable = {command.input_relay->read_end(), POLLIN, 0};
      if (poll(&readable, 1, 0) <= 0 || (readable.revents & POLLIN) == 0) break;
      char piece[4096];
      const ssize_t got = read(command.input_relay->read_end(), piece, sizeof piece);
      if (got <= 0) break;
      pending.append(piece, static_cast<size_t>(got));
      for (size_t end = pending.find('\n'); end != std::string::npos; end = pending.find('\n')) {
        const std::string back = answer(json::parse(pending.substr(0, end)));
        pending.erase(0, end + 1);
        if (!back.empty()) command.on_output(OutputStream::kStdout, back);
      }
    }
    CommandResult ended;
    ended.exit_code = 0;
    return ended;
  }

  std::string reason(const std::string& name = "srv.echo") {
    const ToolResult result = call(name, json::object());
    if (result.ok) return "";
    message_ = result.error->message;
    return std::string(to_string(result.error->code)) + " " + result.error->reason;
  }

  TrustedMcpServer server_;
  json listed_ = json::array({listed_tool("other"), listed_tool("echo")});
  json result_ = {{"content", json::array({{{"type", "text"}, {"text", "x"}}})}};
  json called_;
  std::string message_;
  FakeCommandRunner::Answer answer_ = [this](const Command& command, Overlay&) {
    return play(command);
  };
  FakeCommandRunner runner_{
      [this](const Command& command, Overlay& overlay) { return answer_(command, overlay); }};
};

/// The time that curl has to delete a session, after a request that took this long.
milliseconds time_of_farewell(milliseconds timeout, milliseconds used) {
  TrustedMcpServer server;
  server.url = "http://127.0.0.1:1/mcp";
  server.timeout = timeout;
  milliseconds farewell{0};
  const auto run = [&](const Command& command) -> Result<CommandResult> {
    CommandResult ended;
    if (command.input.find("\"DELETE\"") != std::string::npos) {
      farewell = *command.limits.wall;
      return ended;
    }
    ended.wall = used;
    command.on_output(OutputStream::kStdout,
                      "HTTP/1.1 400 no\r\nMcp-Session-Id: s\r\nContent-Length: 0\r\n\r\n");
    return ended;
  };
  McpClientTask task;
  task.version = "2025-11-25";
  const auto ran = run_mcp_server(server, task, mcp_server_command(server), run);
  EXPECT_TRUE(ran) << ran.error().message;
  return farewell;
}

TEST(RemoteMcpServer, TheEndOfASessionHasTheTimeThatTheCallLeaves) {
  EXPECT_EQ(time_of_farewell(milliseconds(60'000), milliseconds(1'000)), milliseconds(5'000));
  EXPECT_EQ(time_of_farewell(milliseconds(4'000), milliseconds(1'000)), milliseconds(3'000));
  EXPECT_EQ(time_of_farewell(milliseconds(4'000), milliseconds(3'900)), milliseconds(1'000));
}

TEST_F(McpTools, ACallRunsTheServerOnceInTheSandbox) {
  add();
  const ToolResult result = call("srv.echo", {{"text", "x"}});
  ASSERT_TRUE(result.ok) << result.error->message;
  EXPECT_EQ((*result.data)["content"][0]["text"], "x");
  EXPECT_EQ(called_["name"], "echo") << "by the server's own name";
  EXPECT_EQ(called_["arguments"], json({{"text", "x"}}));
  ASSERT_EQ(runner_.commands().size(), 1U);
  const Command& command = runner_.commands()[0];
  EXPECT_THAT(command.argv, ElementsAre("/opt/server", "--stdio"));
  EXPECT_THAT(command.readable, ElementsAre("/opt"));
  EXPECT_EQ(command.environment.at("A"), "b");
  EXPECT_EQ(command.effects, EffectsRule::kStageAlways);
  EXPECT_EQ(command.network, NetworkAccess::kNone);
  EXPECT_TRUE(command.passes_all_output);
  EXPECT_EQ(command.limits.wall, std::chrono::milliseconds(10'000));
  const auto intent = (*registry_.get("srv.echo"))->tool->intent({}, {"/ws"});
  EXPECT_TRUE(intent->is_open_ended);
  EXPECT_THAT(intent->programs, ElementsAre("server"));
}

TEST_F(McpTools, WritesOfAReadOnlyServerAreDropped) {
  server_.writes = false;
  add();
  EXPECT_EQ(reason(), "");
  EXPECT_EQ(runner_.commands()[0].effects, EffectsRule::kDrop);
}

TEST_F(McpTools, AnyChangedDefinitionRefusesEveryCall) {
  add();
  listed_[0]["description"] = "now another";
  EXPECT_EQ(reason(), "EPERMISSION tool.definition_changed") << "of the other tool, at that";
  EXPECT_TRUE(called_.is_null());
  listed_ = json::array({listed_tool("echo")});
  EXPECT_EQ(reason(), "EPERMISSION tool.definition_changed");
  listed_ = json::array({listed_tool("echo"), listed_tool("other"), listed_tool("third")});
  EXPECT_EQ(reason(), "EPERMISSION tool.definition_changed");
}

TEST_F(McpTools, AnErrorOfTheServerHasItsMessage) {
  add();
  result_["isError"] = true;
  EXPECT_EQ(reason(), "ERUNTIME tool.failed");
  EXPECT_THAT(message_, HasSubstr("says: x"));
}

TEST_F(McpTools, StructuredContentMustConformToTheSchemaOfTheServer) {
  const json schema = {{"type", "object"},
                       {"properties", {{"n", {{"$ref", "#/$defs/n"}}}}},
                       {"$defs", {{"n", {{"type", "integer"}}}}},
                       {"required", {"n"}}};
  server_.definitions[0]["outputSchema"] = schema;
  listed_[1]["outputSchema"] = schema;
  add();
  result_["structuredContent"] = {{"n", 1}};
  const ToolResult result = call("srv.echo", json::object());
  ASSERT_TRUE(result.ok) << result.error->message;
  EXPECT_EQ((*result.data)["structuredContent"]["n"], 1);
  result_["structuredContent"] = {{"n", "one"}};
  EXPECT_EQ(reason(), "ERUNTIME tool.output");
  result_.erase("structuredContent");
  EXPECT_EQ(reason(), "ERUNTIME tool.output");
}

TEST_F(McpTools, ABrokenLimitOfTheSandboxIsNamed) {
  add();
  const auto breached = [&](LimitKind kind) {
    answer_ = [kind](const Command&, Overlay&) {
      CommandResult ended;
      ended.breach = LimitBreach{kind, 10, 11};
      return ended;
    };
    return reason();
  };
  EXPECT_EQ(breached(LimitKind::kWall), "ETIMEOUT tool.timeout");
  EXPECT_EQ(breached(LimitKind::kMemory), "EQUOTA sandbox.quota_memory");
  answer_ = [](const Command&, Overlay&) {
    CommandResult ended;
    ended.exit_code = 7;
    ended.standard_error.head = "no such module\n";
    return ended;
  };
  EXPECT_EQ(reason(), "ERUNTIME tool.exit");
  EXPECT_THAT(message_, HasSubstr("status 7"));
  EXPECT_THAT(message_, HasSubstr("no such module"));
}

TEST_F(McpTools, AMissingSecretRefusesTheCall) {
  server_.secrets = {"KEY"};
  add();
  EXPECT_EQ(reason(), "EPERMISSION secret.unavailable");
  EXPECT_TRUE(runner_.commands().empty());
}

TEST_F(McpTools, WithoutASandboxTheCallIsRefused) {
  add();
  commands_ = nullptr;
  EXPECT_EQ(reason(), "EPERMISSION sandbox.unavailable");
}

}  // namespace
}  // namespace galley
