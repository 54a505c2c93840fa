// Reads any bytes as the request of an agent's hook, in bounded time. The rewritten command means
// the same as the original command.
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/result.h"
#include "server/agents/hook_request.h"
#include "server/agents/hooked_call.h"
#include "server/agents/shell_patch.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const galley::StagedProgram staged{"galley", "bot"};
  const galley::IsOffered is_offered = [](std::string_view name) { return name == "Edit"; };
  if (const auto request = galley::read_hook_request(text)) {
    const auto action =
        galley::hook_action_of(*request, staged, {{"pass*"}, {"files"}}, is_offered);
    GALLEY_CHECK(action || !action.error().message.empty());
    GALLEY_CHECK(!galley::hook_denies(request->protocol, text).empty());
  }
  const auto patch = galley::patch_in_shell_command(text);
  GALLEY_CHECK(!patch || text.find(patch->patch) != std::string_view::npos);
  galley::HookRequest command;
  command.tool = "Bash";
  command.input = {{"command", std::string(text)}};
  const auto action = galley::hook_action_of(command, staged, {}, is_offered);
  GALLEY_CHECK(action.has_value() && !std::holds_alternative<galley::HookedCall::Pass>(*action));
  return 0;
}
