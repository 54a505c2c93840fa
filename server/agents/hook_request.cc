#include "server/agents/hook_request.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "tools/json_input.h"

namespace galley {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

Error malformed(const std::string& what) {
  return {ErrorKind::kInvalid, "hook.request",
          "this is not a request of an agent's hook that Galley knows: " + what, "", 0};
}

struct EventName {
  std::string_view name;
  HookProtocol protocol;
  HookEvent event;
};

constexpr std::array kEventNames = {
    EventName{"PreToolUse", HookProtocol::kPreToolUse, HookEvent::kBefore},
    EventName{"PostToolUse", HookProtocol::kPreToolUse, HookEvent::kAfter},
    EventName{"UserPromptSubmit", HookProtocol::kPreToolUse, HookEvent::kPrompt},
    EventName{"Stop", HookProtocol::kPreToolUse, HookEvent::kEnd},
    EventName{"SessionStart", HookProtocol::kPreToolUse, HookEvent::kOther},
    EventName{"SessionEnd", HookProtocol::kPreToolUse, HookEvent::kOther},
    EventName{"SubagentStart", HookProtocol::kPreToolUse, HookEvent::kOther},
    EventName{"SubagentStop", HookProtocol::kPreToolUse, HookEvent::kOther},
    EventName{"Notification", HookProtocol::kPreToolUse, HookEvent::kOther},
    EventName{"PreCompact", HookProtocol::kPreToolUse, HookEvent::kOther},
    EventName{"PreCompress", HookProtocol::kBeforeTool, HookEvent::kOther},
    EventName{"BeforeModel", HookProtocol::kBeforeTool, HookEvent::kOther},
    EventName{"AfterModel", HookProtocol::kBeforeTool, HookEvent::kOther},
    EventName{"BeforeTool", HookProtocol::kBeforeTool, HookEvent::kBefore},
    EventName{"AfterTool", HookProtocol::kBeforeTool, HookEvent::kAfter},
    EventName{"BeforeAgent", HookProtocol::kBeforeTool, HookEvent::kPrompt},
    EventName{"AfterAgent", HookProtocol::kBeforeTool, HookEvent::kEnd},
    EventName{"tool.execute.before", HookProtocol::kToolExecuteBefore, HookEvent::kBefore},
    EventName{"tool.execute.after", HookProtocol::kToolExecuteBefore, HookEvent::kAfter},
    EventName{"chat.message", HookProtocol::kToolExecuteBefore, HookEvent::kPrompt},
    EventName{"session.idle", HookProtocol::kToolExecuteBefore, HookEvent::kEnd},
};

Result<void> read_call(json& document, HookRequest& request) {
  request.tool = text_member(document, "tool_name");
  if (request.tool.empty()) return malformed("it has no tool_name");
  const auto input = document.find("tool_input");
  if (input == document.end() || !input->is_object()) {
    return malformed("it has no tool_input that is an object");
  }
  request.input = std::move(*input);
  request.call_id = text_member(document, "tool_use_id");
  const auto context = document.find("mcp_context");
  if (context != document.end() && context->is_object()) {
    request.server = text_member(*context, "server_name");
    request.server_tool = text_member(*context, "tool_name");
  }
  return {};
}

}  // namespace

Result<HookRequest> read_hook_request(std::string_view text) {
  JsonLimits limits;
  limits.max_bytes = kMaxHookBytes;
  GALLEY_ASSIGN(json document, parse_json(text, limits));
  if (!document.is_object()) return malformed("it is not a JSON object");
  const std::string event = text_member(document, "hook_event_name");
  const auto known = std::find_if(kEventNames.begin(), kEventNames.end(),
                                  [&](const EventName& one) { return one.name == event; });
  if (known == kEventNames.end()) {
    return malformed("its hook_event_name is '" + event +
                     "', and only PreToolUse, BeforeTool and tool.execute.before are judged");
  }
  HookRequest request;
  request.protocol = known->protocol;
  request.event = known->event;
  request.prompt = text_member(document, "prompt");
  const bool is_call = request.event == HookEvent::kBefore || request.event == HookEvent::kAfter;
  if (is_call) GALLEY_TRY(read_call(document, request));
  request.cwd = text_member(document, "cwd");
  request.session = text_member(document, "session_id");
  request.is_planning = text_member(document, "permission_mode") == "plan";
  return request;
}

std::string HookRequest::call() const {
  return call_id.empty() ? tool + "\n" + json_text(input) : call_id;
}

std::string hook_allows(HookProtocol protocol) {
  // No opinion: the agent asks its person as without the hook. "allow" would skip that question.
  return protocol == HookProtocol::kPreToolUse ? "" : "{}\n";
}

std::string hook_reports(HookProtocol protocol, std::string_view text) {
  ordered_json answer;
  if (protocol == HookProtocol::kPreToolUse) answer["decision"] = "block";
  if (protocol == HookProtocol::kBeforeTool) answer["decision"] = "deny";
  answer["reason"] = text;
  return json_text(answer) + "\n";
}

namespace {

std::string decided(HookProtocol protocol, const char* decision, std::string_view reason) {
  ordered_json answer;
  if (protocol != HookProtocol::kPreToolUse) {
    answer["decision"] = decision;
    answer["reason"] = reason;
    return json_text(answer) + "\n";
  }
  ordered_json& output = answer["hookSpecificOutput"];
  output["hookEventName"] = "PreToolUse";
  output["permissionDecision"] = decision;
  output["permissionDecisionReason"] = reason;
  return json_text(answer) + "\n";
}

}  // namespace

std::string hook_asks(HookProtocol protocol, std::string_view reason) {
  return decided(protocol, "ask", reason);
}

std::string hook_denies(HookProtocol protocol, std::string_view reason) {
  return decided(protocol, "deny", reason);
}

std::string hook_replaces(HookProtocol protocol, const json& input, bool asks) {
  ordered_json answer;
  if (protocol == HookProtocol::kToolExecuteBefore) {
    answer["tool_input"] = input;
    return json_text(answer) + "\n";
  }
  ordered_json& decision = answer["hookSpecificOutput"];
  if (protocol == HookProtocol::kPreToolUse) {
    decision["hookEventName"] = "PreToolUse";
    decision["permissionDecision"] = asks ? "ask" : "allow";
    decision["updatedInput"] = input;
  } else {
    decision["hookEventName"] = "BeforeTool";
    decision["tool_input"] = input;
  }
  return json_text(answer) + "\n";
}

}  // namespace galley
