#pragma once

#include "cli/session.h"

namespace galley {

/// `tools add --mcp NAME -- COMMAND…`: starts the server once, shows its identity and the
/// descriptions of its tools, asks a person, and stores it for the workspace.
/// Errors: kUsage `usage.mcp_server`; those of run_mcp_server, TrustedMcpServer::check and
///         require_person.
Result<int> add_mcp_server(Session& session);

/// `tools trust NAME`: does the same for a stored server, and shows how its tools changed.
/// Errors: additionally kUsage `tool.unknown`.
Result<int> trust_mcp_server_again(Session& session);

}  // namespace galley
