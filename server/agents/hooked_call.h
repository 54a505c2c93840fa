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

/// What a tool call of an agent is to Galley: what the hook has to do about it.
struct HookedCall {
  /// It changes nothing of the workspace, or passes Galley's gate itself.
  struct Pass {};
  /// It edits files: the same as a call of this tool of Galley's, with these arguments.
  struct Edit {
    std::string tool;
    nlohmann::json arguments;
    std::string directory;  ///< that relative paths are meant from, seen from the agent's; may be
                            ///< empty
  };
  /// It runs a command, which is to run staged. `input` is the whole of the call's new arguments.
  struct Command {
    nlohmann::json input;
    std::string directory;  ///< where it starts, seen from the agent's; may be empty
  };
  using Deed = std::variant<Pass, Edit, Command>;
};

/// How the staged form of a command is begun: `/usr/bin/galley --agent codex`.
struct StagedProgram {
  std::string program = "galley";
  std::string agent;  ///< may be empty
};

/// Whether `galley mcp` offers a tool of this name in the workspace. Agents spell it with `_` for
/// each character that is no letter, no digit, `_` or `-`.
using IsOffered = std::function<Result<bool>(std::string_view name)>;

/// What a person says of tools in the hook's own command.
struct PersonsWord {
  /// Names of tools that pass unjudged; one that ends in `*` means all that begin so.
  std::vector<std::string> passed;
  /// Names of servers that are the file system server of the Model Context Protocol. A name of a
  /// tool does not prove that: any server may have tools of these names.
  std::vector<std::string> file_servers;
};

/// Tells what a call does. A call of Galley's own server is one of a tool that it offers: a name
/// that only begins so may be another server's.
/// Errors: kRefused `hook.unknown_tool` for a tool of which it cannot be told what it changes,
///         `hook.background`; kInvalid `hook.input` when its arguments are not as that tool has
///         them; those of `is_offered`.
[[nodiscard]] Result<HookedCall::Deed> deed_of(const HookRequest& request,
                                               const StagedProgram& staged, const PersonsWord& said,
                                               const IsOffered& is_offered);

}  // namespace galley
