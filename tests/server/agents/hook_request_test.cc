#include "server/agents/hook_request.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace galley {
namespace {

TEST(HookRequest, RequestsOfEachAgentAreRead) {
  for (const auto& [event, protocol] :
       {std::pair("PreToolUse", HookProtocol::kPreToolUse),
        std::pair("BeforeTool", HookProtocol::kBeforeTool),
        std::pair("tool.execute.before", HookProtocol::kToolExecuteBefore)}) {
    const auto request = read_hook_request(
        std::string(R"({"tool_name":"x","tool_input":{},"cwd":"/w","hook_event_name":")") + event +
        "\"}");
    ASSERT_TRUE(request.has_value());
    EXPECT_EQ(request->protocol, protocol);
    EXPECT_EQ(request->cwd, "/w");
  }
}

TEST(HookRequest, APromptNeedsNoTool) {
  for (const char* event : {"UserPromptSubmit", "BeforeAgent", "chat.message"}) {
    const auto request = read_hook_request(std::string(R"({"prompt":"p","hook_event_name":")") +
                                           event + R"(","session_id":"s-1"})");
    ASSERT_TRUE(request.has_value()) << event;
    EXPECT_EQ(request->event, HookEvent::kPrompt);
    EXPECT_EQ(request->prompt, "p");
    EXPECT_EQ(request->session, "s-1");
  }
}

TEST(HookRequest, BothReportsOfACallNameIt) {
  const auto call = [](const char* event, const char* more) {
    return read_hook_request(std::string(R"({"tool_name":"x","tool_input":{"a":1},)") + more +
                             R"("hook_event_name":")" + event + "\"}")
        ->call();
  };
  EXPECT_EQ(call("BeforeTool", ""), call("AfterTool", ""));
  EXPECT_EQ(call("PreToolUse", R"("tool_use_id":"7",)"), "7");
}

TEST(HookRequest, AnInvalidRequestIsAnError) {
  for (const char* text :
       {"", "[]", "{}", R"({"hook_event_name":"Sleep"})", R"({"hook_event_name":"PreToolUse"})",
        R"({"hook_event_name":"PreToolUse","tool_name":"x"})",
        R"({"hook_event_name":"PreToolUse","tool_name":"x","tool_input":[]})",
        R"({"hook_event_name":"PreToolUse","tool_name":1,"tool_input":{}})"}) {
    EXPECT_FALSE(read_hook_request(text).has_value()) << text;
  }
}

// Limit: kMaxHookBytes of server/agents/hook_request.h
TEST(HookRequest, HasASizeLimit) {
  const auto request = read_hook_request(std::string(kMaxHookBytes + 1, ' '));
  ASSERT_FALSE(request.has_value());
  EXPECT_EQ(request.error().kind, ErrorKind::kQuota);
}

TEST(HookAnswer, HasTheFormatOfEachAgent) {
  const nlohmann::json input = {{"command", "x"}};
  EXPECT_EQ(hook_allows(HookProtocol::kPreToolUse), "");
  EXPECT_EQ(hook_denies(HookProtocol::kPreToolUse, "no"),
            R"({"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny",)"
            R"("permissionDecisionReason":"no"}})"
            "\n");
  EXPECT_EQ(hook_replaces(HookProtocol::kPreToolUse, input),
            R"({"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow",)"
            R"("updatedInput":{"command":"x"}}})"
            "\n");
  EXPECT_EQ(hook_reports(HookProtocol::kPreToolUse, "look"),
            "{\"decision\":\"block\",\"reason\":\"look\"}\n");
  EXPECT_EQ(hook_reports(HookProtocol::kToolExecuteBefore, "look"), "{\"reason\":\"look\"}\n");
  EXPECT_EQ(hook_denies(HookProtocol::kBeforeTool, "no"),
            "{\"decision\":\"deny\",\"reason\":\"no\"}\n");
  EXPECT_EQ(hook_replaces(HookProtocol::kBeforeTool, input),
            R"({"hookSpecificOutput":{"hookEventName":"BeforeTool","tool_input":{"command":"x"}}})"
            "\n");
  EXPECT_EQ(hook_replaces(HookProtocol::kToolExecuteBefore, input),
            "{\"tool_input\":{\"command\":\"x\"}}\n");
}

}  // namespace
}  // namespace galley
