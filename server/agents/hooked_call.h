#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "server/agents/hook_request.h"

namespace galley {

/// The meaning of an agent's tool call for Galley: what the hook must do.
struct HookedCall {
  /// It changes nothing in the workspace, or passes Galley's gate itself.
  struct Pass {};
  /// It edits files: equivalent to a call of this Galley tool with these arguments.
  struct Edit {
    std::string tool;
    nlohmann::json arguments;
    std::string directory;  ///< the base of relative paths, relative to the agent's folder; may be
                            ///< empty
  };
  /// It runs a command that must run staged. `input` has all new arguments of the call.
  struct Command {
    nlohmann::json input;
    std::string directory;  ///< its start folder, relative to the agent's; may be empty
  };
  using HookAction = std::variant<Pass, Edit, Command>;
};

/// How the commands of an agent run.
struct CommandSettings {
  /// Whether changes are collected in the agent's transaction. Without it they are committed when
  /// the command ends.
  bool is_staged = false;
  bool drops_on_failure = false;  ///< the changes of a command that failed
  bool has_network = false;       ///< that of the host
};

/// The beginning of the command that runs an agent's command in the sandbox:
/// `/usr/bin/galley --agent codex --session 7f3a`.
struct StagedProgram {
  std::string program = "galley";
  std::string agent;         ///< may be empty
  std::string session;       ///< may be empty
  std::string shell = "sh";  ///< runs the text of a command
  /// Asked for a command only.
  std::function<Result<CommandSettings>()> settings = {};
};

/// Whether `galley mcp` offers a tool of this name in the workspace. Agents write `_` for each
/// character other than letters, digits, `_` and `-`.
using IsOffered = std::function<Result<bool>(std::string_view name)>;

/// A person's settings about tools, from the hook's own command.
struct HookSettings {
  /// Names of tools whose calls are not judged. A `*` at the end of a name matches any text.
  std::vector<std::string> passed;
  /// Names of the servers that are the file system server of the Model Context Protocol. The names
  /// of their tools do not prove it, because any server may use the same names.
  std::vector<std::string> file_servers;
  std::string prefix;  ///< as of `galley mcp --prefix`
};

/// Decides what a call does. A call of Galley's own server is accepted only for a tool that it
/// offers, because another server's name may begin in the same way.
/// Errors: kRefused `hook.unknown_tool` for a tool whose effects are unknown,
///         `hook.background`; kInvalid `hook.input` when its arguments are not those of that
///         tool; those of `is_offered`.
[[nodiscard]] Result<HookedCall::HookAction> hook_action_of(const HookRequest& request,
                                                            const StagedProgram& staged,
                                                            const HookSettings& settings,
                                                            const IsOffered& is_offered);

/// Whether the call has the name of a tool of Galley's own server.
[[nodiscard]] bool is_own_tool(const HookRequest& request);

/// The capability that lets a tool of another MCP server pass: `mcp:github/create_issue` for
/// `mcp__github__create_issue`. Empty if the name may mean another server or tool; Gemini CLI says
/// both apart from the name.
[[nodiscard]] std::string foreign_capability(const HookRequest& request);

}  // namespace galley
