#pragma once

#include "cli/session.h"

namespace galley {

/// `tools add --mcp NAME -- COMMAND…`: starts the server once, shows what it is and what its tools
/// say of themselves, asks a person, and keeps it for the workspace.
/// Errors: kUsage `usage.mcp_server`; those of run_mcp_server, TrustedMcpServer::check and
///         need_person.
Result<int> add_mcp_server(Session& session);

/// `tools trust NAME`: the same for a server that is kept already, with what became of its tools.
/// Errors: kUsage `tool.unknown` too.
Result<int> trust_mcp_server_again(Session& session);

}  // namespace galley
