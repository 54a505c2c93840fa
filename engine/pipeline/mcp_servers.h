#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "engine/pipeline/trust.h"
#include "tools/mcp/mcp_tool.h"
#include "tools/mcp/trusted_mcp_server.h"
#include "tools/registry.h"

namespace galley {

// MCP servers that a person added to a workspace, so that it may call their tools (docs/agents.md).
// They are stored next to custom tools (custom_tools.h), outside every workspace:
//
//     $XDG_STATE_HOME/galley/tools/<SHA-256 of the root's path>/mcp-<name>.json

inline constexpr size_t kMaxMcpServers = 64;  ///< MCP servers of one workspace

/// Stores a server for the workspace at `root`. Replaces a server with the same name.
/// Errors: kRefused `trust.no_place` as record_trust(); kQuota `limit.mcp_record`; kIo.
Result<void> trust_mcp_server(const UserSettings& settings, const std::string& root,
                              const TrustedMcpServer& server);

/// Returns the stored servers of a workspace, sorted by name. Skips records that belong to another
/// user or cannot be read.
[[nodiscard]] Result<std::vector<TrustedMcpServer>> trusted_mcp_servers(
    const UserSettings& settings, const std::string& root);

/// Removes a server. Returns false if none has that name.
Result<bool> forget_mcp_server(const UserSettings& settings, const std::string& root,
                               std::string_view name);

/// A tool of a server that cannot be added, and why.
using SkippedMcpTool = std::pair<std::string, Error>;

/// Adds the tools of a server to a registry. Returns those that cannot be added: their name is
/// taken, or valijson cannot check their schema faithfully.
[[nodiscard]] std::vector<SkippedMcpTool> add_mcp_tools(
    ToolRegistry& registry, const std::shared_ptr<const TrustedMcpServer>& server);

/// Adds the tools of all stored servers, except those that add_mcp_tools() cannot add. Returns a
/// notice for each whose name, or one like it, is taken.
Result<std::vector<std::string>> add_mcp_servers(ToolRegistry& registry,
                                                 const UserSettings& settings,
                                                 const std::string& root);

}  // namespace galley
