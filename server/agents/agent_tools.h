#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "server/agents/hook_request.h"
#include "tools/tool.h"

namespace galley {

/// The meaning of an argument. Each agent has its own name for the argument.
enum class ArgumentMeaning : uint8_t {
  kPath,
  kOld,
  kNew,
  kAll,
  kContent,
  kEdits,
  kPatch,
  kCommand,
  kDirectory,
  kBackground,
  kSource,
  kTarget,
  kInstruction,
};

/// One argument: its key in the agent's tool and its key in Galley's tool.
struct AgentArgument {
  ArgumentMeaning meaning = ArgumentMeaning::kPath;
  const char* theirs = "";  ///< empty: this tool does not have the argument
  const char* ours = "";    ///< empty: it is not passed on
};

/// A tool of an agent that edits files or runs commands.
struct AgentTool {
  std::string name;
  const char* ours = "";  ///< Galley's equivalent tool; empty: it runs a command
  std::vector<AgentArgument> arguments;
  std::vector<AgentArgument> of_each_edit;  ///< of the members of `edits`
  std::vector<std::string_view> idle = {};  ///< further arguments that change nothing more
};

/// The tool with exactly this name in the protocol of the request; null for a tool that is not
/// known to change anything. Tools of a file system server are known only if a person named the
/// server.
[[nodiscard]] const AgentTool* agent_tool(const HookRequest& request,
                                          const std::vector<std::string>& file_servers);

/// The name of the server, if the tool has the name of a writing tool of the file system server;
/// else empty.
[[nodiscard]] std::string possible_file_server(const HookRequest& request);

/// Whether agents of this protocol have such a tool, and it only reads, asks or plans, or starts
/// agents whose own calls go through the hook.
[[nodiscard]] bool is_reading_tool(HookProtocol protocol, std::string_view name);

/// The path that the tool reads, if it reads one file; else empty.
[[nodiscard]] std::string read_path(const HookRequest& request);

/// The value of the argument `meaning` in the input of the agent's tool; null when it is missing.
[[nodiscard]] const nlohmann::json* argument_of(const AgentTool& tool, const nlohmann::json& input,
                                                ArgumentMeaning meaning);

/// The arguments of Galley's tool: the values under exactly the keys that the agent's tool reads.
/// Errors: kInvalid `hook.input` when a value is under a key that another agent, or another
///         version, uses for the same argument. Then it is not known which value the tool uses.
///         The same for any other key: its effect is not known.
[[nodiscard]] Result<nlohmann::json> own_arguments(const AgentTool& tool,
                                                   const nlohmann::json& input);

/// Gives the corrected call in the message and in the details of a misfit the keys of the agent's
/// call `input`, so that the agent can send it as it is.
void correct_for_agent(const AgentTool& tool, const nlohmann::json& input, ToolError& error);

/// Whether an agent may write to another file than Galley expects from this path. Some agents
/// replace `~` by the home directory, and trim white space.
[[nodiscard]] bool may_name_another_file(std::string_view path);

}  // namespace galley
