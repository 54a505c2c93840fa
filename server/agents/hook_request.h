#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/result.h"

namespace galley {

/// What agents send a hook before a tool runs is not longer; a longer one is denied.
inline constexpr size_t kMaxHookBytes = size_t{16} << 20U;
/// A call on which no judgement was reached by then is denied. Agents let a call through whose hook
/// takes longer than they wait: 60 s as `galley agents install` has it.
inline constexpr std::chrono::seconds kMaxHookTime{20};
/// Validators get so long to end after that; then the process ends by itself.
inline constexpr std::chrono::seconds kHookGraceTime{5};

/// Whose hook protocol a request follows; docs/agents.md has what was seen of each.
enum class HookProtocol : uint8_t {
  kPreToolUse,         ///< codex and Claude Code
  kBeforeTool,         ///< Gemini CLI
  kToolExecuteBefore,  ///< opencode, through the plugin that `galley agents install` writes
};

/// A tool call that an agent is about to make, as its hook is told of it.
struct HookRequest {
  HookProtocol protocol = HookProtocol::kPreToolUse;
  std::string tool;      ///< the agent's own name of it
  nlohmann::json input;  ///< an object
  std::string cwd;       ///< where the agent works; may be empty
  std::string session;   ///< for the record; may be empty
  std::string call_id;
};

/// Reads the one JSON object that a hook is given on standard input.
/// Errors: kInvalid `hook.request`, `json.*`; kQuota `limit.json_bytes`.
[[nodiscard]] Result<HookRequest> read_hook_request(std::string_view text);

/// What a hook writes to standard output to let the call be made as it is; may be empty.
[[nodiscard]] std::string hook_allows(HookProtocol protocol);
/// The call is not made, and the model is told why.
[[nodiscard]] std::string hook_denies(HookProtocol protocol, std::string_view reason);
/// The call is made with `input` instead.
[[nodiscard]] std::string hook_replaces(HookProtocol protocol, const nlohmann::json& input);

}  // namespace galley
