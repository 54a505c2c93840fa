#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/result.h"

namespace galley {

/// The maximum size of a hook request; a larger one is denied.
inline constexpr size_t kMaxHookBytes = size_t{16} << 20U;
/// A call that is not judged within this time is denied. Agents let a call through when its hook
/// takes longer than their timeout: 60 s as set by `galley agents install`.
inline constexpr std::chrono::seconds kMaxHookTime{20};
/// After that, validators have this time to end; then the process exits.
inline constexpr std::chrono::seconds kHookGraceTime{5};

/// The hook protocol of a request. docs/agents.md describes the observed behaviour of each agent.
enum class HookProtocol : uint8_t {
  kPreToolUse,         ///< codex and Claude Code
  kBeforeTool,         ///< Gemini CLI
  kToolExecuteBefore,  ///< opencode, through the plugin that `galley agents install` writes
};

/// When an agent calls its hook.
enum class HookEvent : uint8_t {
  kBefore,  ///< it is about to call a tool
  kAfter,   ///< it called a tool
  kPrompt,  ///< its person sent a prompt
  kEnd,     ///< it finished its answer
  kOther,   ///< something that Galley need not know
};

/// A request or report of an agent to its hook.
struct HookRequest {
  HookProtocol protocol = HookProtocol::kPreToolUse;
  HookEvent event = HookEvent::kBefore;
  std::string prompt;       ///< with kPrompt only
  std::string tool;         ///< the agent's name for it; with kBefore and kAfter only
  nlohmann::json input;     ///< an object
  std::string server;       ///< the MCP server of the tool, as Gemini CLI says it; may be empty
  std::string server_tool;  ///< the server's name for the tool
  std::string cwd;          ///< the agent's folder; may be empty
  std::string session;      ///< for the record; may be empty
  std::string call_id;
  bool is_planning = false;  ///< its person wants a plan and no changes yet

  /// The identity of a call, which is the same in the reports before and after it.
  [[nodiscard]] std::string call() const;
};

/// Parses the JSON object that a hook gets on standard input.
/// Errors: kInvalid `hook.request`, `json.*`; kQuota `limit.json_bytes`.
[[nodiscard]] Result<HookRequest> read_hook_request(std::string_view text);

/// The output of a hook that lets the call through unchanged; may be empty.
[[nodiscard]] std::string hook_allows(HookProtocol protocol);
/// The output of a hook that tells the model something about the call that it made.
[[nodiscard]] std::string hook_reports(HookProtocol protocol, std::string_view text);
/// The output of a hook that denies the call and tells the model why.
[[nodiscard]] std::string hook_denies(HookProtocol protocol, std::string_view reason);
/// The output of a hook that lets a person decide at the agent's own prompt; for Claude Code and
/// Gemini CLI.
[[nodiscard]] std::string hook_asks(HookProtocol protocol, std::string_view reason);
/// The output of a hook that lets the call through with `input` instead. If `asks`, a person
/// decides first, at the agent's own prompt; for Claude Code.
[[nodiscard]] std::string hook_replaces(HookProtocol protocol, const nlohmann::json& input,
                                        bool asks = false);

}  // namespace galley
