#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "engine/pipeline/trust.h"
#include "tools/mcp_tool.h"
#include "tools/registry.h"
#include "tools/trusted_mcp_server.h"

namespace galley {

// The MCP servers that a person lets a workspace ask (docs/mcp-servers.md). Kept where custom tools
// are kept (custom_tools.h), outside every workspace:
//
//     $XDG_STATE_HOME/galley/tools/<SHA-256 of the root's path>/mcp-<name>.json

inline constexpr size_t kMaxMcpServers = 64;  ///< of one workspace

/// Keeps a server for the workspace at `root`, in place of one of that name.
/// Errors: kRefused `trust.no_place` as record_trust(); kQuota `limit.mcp_record`; kIo.
Result<void> trust_mcp_server(const UserSettings& settings, const std::string& root,
                              const TrustedMcpServer& server);

/// Every server that is kept for a workspace, by name. A record that is not ours or cannot be read
/// trusts nothing.
[[nodiscard]] Result<std::vector<TrustedMcpServer>> trusted_mcp_servers(
    const UserSettings& settings, const std::string& root);

/// Takes a server away; false when there is none of that name.
Result<bool> forget_mcp_server(const UserSettings& settings, const std::string& root,
                               std::string_view name);

/// A tool of a server that cannot be had here, and why.
using McpToolLeftOut = std::pair<std::string, Error>;

/// Adds the tools of a server to a registry. One that cannot be had (its name, a schema that cannot
/// be checked faithfully) is left out and told of.
[[nodiscard]] std::vector<McpToolLeftOut> add_mcp_tools(
    ToolRegistry& registry, const std::shared_ptr<const TrustedMcpServer>& server);

/// Adds those of every server that is kept for a workspace. What was left out when the person said
/// yes is left out again.
Result<void> add_mcp_servers(ToolRegistry& registry, const UserSettings& settings,
                             const std::string& root);

}  // namespace galley
