#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "staging/sandbox/command_runner.h"
#include "tools/mcp_dialogue.h"
#include "tools/tool.h"
#include "tools/trusted_mcp_server.h"

namespace galley {

/// How one run of a server went.
struct McpServerRun {
  Result<McpReply> reply;
  CommandResult ran;
};

/// Starts a server, does the errand and ends it. `command` says how it runs; input and output are
/// the dialogue's. Once the dialogue is over, the server's input ends; when it has not ended a
/// moment later, it is ended, and what it wrote counts.
/// Errors: those of CommandRunner. What went wrong with the server is the reply's error:
///         `tool.timeout`, `tool.exit`, `tool.effects`, `sandbox.*`, those of McpDialogue.
[[nodiscard]] Result<McpServerRun> run_mcp_server(
    const TrustedMcpServer& server, McpErrand errand, Command command,
    const std::function<Result<CommandResult>(const Command&)>& run);

/// The command of a server, without its secrets. `effects` as the record says.
[[nodiscard]] Command mcp_server_command(const TrustedMcpServer& server);

/// A tool of a server of the Model Context Protocol. Each call starts the server in the sandbox on
/// the tree that the transaction proposes, compares its definitions with those that were trusted,
/// makes one call, and ends it (docs/mcp-servers.md).
///
/// Its intent is open-ended, as a custom tool's.
/// Errors: of make: kInvalid `tool.name`, `tool.schema`. Of a call: those of run_mcp_server;
///         `tool.definition_changed`, `secret.unavailable`, `sandbox.unavailable`.
[[nodiscard]] Result<std::unique_ptr<const Tool>> make_mcp_tool(
    std::shared_ptr<const TrustedMcpServer> server, const nlohmann::json& definition);

}  // namespace galley
