#pragma once

#include <memory>
#include <nlohmann/json.hpp>

#include "base/result.h"
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

}  // namespace galley
