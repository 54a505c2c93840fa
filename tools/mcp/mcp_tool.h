#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/result.h"
#include "staging/sandbox/command_runner.h"
#include "tools/mcp/mcp_dialogue.h"
#include "tools/mcp/trusted_mcp_server.h"
#include "tools/tool.h"

namespace galley {

/// A tool of a server of the Model Context Protocol. Each call starts the server in the sandbox on
/// the tree that the transaction proposes, or asks one over HTTP. It compares the server's
/// definitions with the trusted ones, makes one call, and ends the server (docs/agents.md).
///
/// Its intent is open-ended, as for a custom tool.
/// Errors: of make: kInvalid `tool.name`, `tool.schema`. Of a call: those of run_mcp_server;
///         `tool.definition_changed`, `secret.unavailable`, `sandbox.unavailable`.
[[nodiscard]] Result<std::unique_ptr<const Tool>> make_mcp_tool(
    std::shared_ptr<const TrustedMcpServer> server, const nlohmann::json& definition);

/// The result of one dialogue with a server.
struct McpServerRun {
  Result<McpReply> reply;
  CommandResult ran;  ///< of the server, or of the last request to one that is asked over HTTP
};

/// Starts a server, makes the requests of the errand, and ends the server. `command` says how it
/// runs; the dialogue uses its input and output. When the dialogue is over, the server's input is
/// closed. A server that does not exit soon afterwards is killed, and its output still counts.
///
/// A server with a URL is asked over HTTP by the program curl, which runs once per request in the
/// sandbox (docs/adr/0102). The secrets are in `command.environment` in both cases; for a URL they
/// only fill the headers. A redirection is not followed. Questions of a server are answered after
/// its answer to the request. At the end its session is deleted.
/// Errors: those of CommandRunner. Errors of the server are in the reply: `tool.timeout`,
///         `tool.exit`, `tool.effects`, `net.unreachable`, `sandbox.*`, those of McpDialogue.
[[nodiscard]] Result<McpServerRun> run_mcp_server(
    const TrustedMcpServer& server, McpClientTask errand, Command command,
    const std::function<Result<CommandResult>(const Command&)>& run);

/// The command of a server, without its secrets. Its `effects` follow from the record.
[[nodiscard]] Command mcp_server_command(const TrustedMcpServer& server);

}  // namespace galley
