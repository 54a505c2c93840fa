#include "server/agents/hook_request.h"

#include <optional>
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

std::optional<HookProtocol> protocol_of(const std::string& event) {
  if (event == "PreToolUse") return HookProtocol::kPreToolUse;
  if (event == "BeforeTool") return HookProtocol::kBeforeTool;
  if (event == "tool.execute.before") return HookProtocol::kToolExecuteBefore;
  return {};
}

}  // namespace

Result<HookRequest> read_hook_request(std::string_view text) {
  JsonLimits limits;
  limits.max_bytes = kMaxHookBytes;
  GALLEY_ASSIGN(json document, parse_json(text, limits));
  if (!document.is_object()) return malformed("it is not a JSON object");
  const std::string event = text_member(document, "hook_event_name");
  const auto protocol = protocol_of(event);
  if (!protocol) {
    return malformed("its hook_event_name is '" + event +
                     "', and only PreToolUse, BeforeTool and tool.execute.before are judged");
  }
  HookRequest request;
  request.protocol = *protocol;
  request.tool = text_member(document, "tool_name");
  if (request.tool.empty()) return malformed("it has no tool_name");
  const auto input = document.find("tool_input");
  if (input == document.end() || !input->is_object()) {
    return malformed("it has no tool_input that is an object");
  }
  request.input = std::move(*input);
  request.cwd = text_member(document, "cwd");
  request.session = text_member(document, "session_id");
  request.call_id = text_member(document, "tool_use_id");
  return request;
}

std::string hook_allows(HookProtocol protocol) {
  // No opinion: the agent asks its person as without the hook. "allow" would skip that question.
  return protocol == HookProtocol::kPreToolUse ? "" : "{}\n";
}

std::string hook_denies(HookProtocol protocol, std::string_view reason) {
  ordered_json answer;
  if (protocol == HookProtocol::kPreToolUse) {
    ordered_json& decision = answer["hookSpecificOutput"];
    decision["hookEventName"] = "PreToolUse";
    decision["permissionDecision"] = "deny";
    decision["permissionDecisionReason"] = reason;
  } else {
    answer["decision"] = "deny";
    answer["reason"] = reason;
  }
  return json_text(answer) + "\n";
}

std::string hook_replaces(HookProtocol protocol, const json& input) {
  ordered_json answer;
  if (protocol == HookProtocol::kToolExecuteBefore) {
    answer["tool_input"] = input;
    return json_text(answer) + "\n";
  }
  ordered_json& decision = answer["hookSpecificOutput"];
  if (protocol == HookProtocol::kPreToolUse) {
    decision["hookEventName"] = "PreToolUse";
    decision["permissionDecision"] = "allow";
    decision["updatedInput"] = input;
  } else {
    decision["hookEventName"] = "BeforeTool";
    decision["tool_input"] = input;
  }
  return json_text(answer) + "\n";
}

}  // namespace galley
