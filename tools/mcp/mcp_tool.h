#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "staging/sandbox/command_runner.h"
#include "tools/mcp/mcp_dialogue.h"
#include "tools/mcp/trusted_mcp_server.h"
#include "tools/tool.h"

namespace galley {

/// The result of one run of a server.
struct McpServerRun {
  Result<McpReply> reply;
  CommandResult ran;
};

/// Starts a server, makes the requests of the errand, and ends the server. `command` says how it
/// runs; the dialogue uses its input and output. When the dialogue is over, the server's input is
/// closed. A server that does not exit soon afterwards is killed, and its output still counts.
/// Errors: those of CommandRunner. Errors of the server are in the reply: `tool.timeout`,
///         `tool.exit`, `tool.effects`, `sandbox.*`, those of McpDialogue.
[[nodiscard]] Result<McpServerRun> run_mcp_server(
    const TrustedMcpServer& server, McpClientTask errand, Command command,
    const std::function<Result<CommandResult>(const Command&)>& run);

/// The command of a server, without its secrets. Its `effects` follow from the record.
[[nodiscard]] Command mcp_server_command(const TrustedMcpServer& server);

/// A tool of a server of the Model Context Protocol. Each call starts the server in the sandbox on
/// the tree that the transaction proposes. It compares the server's definitions with the trusted
/// ones, makes one call, and ends the server (docs/agents.md).
///
/// Its intent is open-ended, as for a custom tool.
/// Errors: of make: kInvalid `tool.name`, `tool.schema`. Of a call: those of run_mcp_server;
///         `tool.definition_changed`, `secret.unavailable`, `sandbox.unavailable`.
[[nodiscard]] Result<std::unique_ptr<const Tool>> make_mcp_tool(
    std::shared_ptr<const TrustedMcpServer> server, const nlohmann::json& definition);

}  // namespace galley
