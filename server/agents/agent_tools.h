#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "server/agents/hook_request.h"

namespace galley {

/// The meaning of an argument; each agent has its own word for it.
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

/// One argument: the key under which the agent's tool reads it, and that of Galley's tool.
struct AgentArgument {
  ArgumentMeaning meaning = ArgumentMeaning::kPath;
  const char* theirs = "";  ///< empty: this tool has no such argument
  const char* ours = "";    ///< empty: it is not handed on
};

/// A tool of an agent that edits files or runs commands, as this agent has it.
struct AgentTool {
  std::string name;
  const char* ours = "";  ///< Galley's tool of the same meaning; empty: it runs a command
  std::vector<AgentArgument> arguments;
  std::vector<AgentArgument> of_each_edit;  ///< of the members of `edits`
};

/// The tool of that protocol with exactly this name; null for one that is not known to change
/// anything. Tools of the protocol's file system server are known when a person has named it.
[[nodiscard]] const AgentTool* agent_tool(const HookRequest& request,
                                          const std::vector<std::string>& file_servers);

/// The server's name when the tool is named as a writing one of the file system server; else empty.
[[nodiscard]] std::string possible_file_server(const HookRequest& request);

/// Whether it is a tool of that protocol's agents that reads, asks or plans, or that starts agents
/// whose own calls are hooked in turn.
[[nodiscard]] bool is_reading_tool(HookProtocol protocol, std::string_view name);

/// The value that the agent's tool takes for `meaning`; null when there is none.
[[nodiscard]] const nlohmann::json* argument_of(const AgentTool& tool, const nlohmann::json& input,
                                                ArgumentMeaning meaning);

/// The arguments of Galley's tool: the values under exactly the keys that the agent's tool reads.
/// Errors: kInvalid `hook.input` when a value is under a key that another agent, or another
///         version, has for the same argument: which of the two is used cannot be told.
[[nodiscard]] Result<nlohmann::json> own_arguments(const AgentTool& tool,
                                                   const nlohmann::json& input);

/// Whether an agent may write to another file than the one that this path names to Galley: some
/// replace `~` by the home, and cut white space off both ends.
[[nodiscard]] bool may_name_another_file(std::string_view path);

}  // namespace galley
