#pragma once

#include <cstdint>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include <galley/tool.h>
#include "base/result.h"
#include "engine/pipeline/custom_tools.h"
#include "engine/pipeline/trust.h"
#include "engine/pipeline/workspace_state.h"
#include "tools/registry.h"

namespace galley {

/// Updates the registry of an open workspace when a person adds or removes custom tools or MCP
/// servers in another process (custom_tools.h, mcp_servers.h).
///
/// Ownership: borrows the workspace. Threads: safe to share.
/// Errors:    those of add_custom_tools; the other tools are added nevertheless.
class StoredTools {
 public:
  /// Remembers the stored tools of now, since a new registry reads them.
  explicit StoredTools(const Workspace& workspace);

  /// Updates the registry. Returns whether anything changed. Costs one stat when nothing did.
  Result<bool> refresh();

 private:
  [[nodiscard]] Result<std::optional<int64_t>> stamp() const;
  [[nodiscard]] Result<std::vector<std::string>> names() const;

  const Workspace* workspace_;
  std::mutex mutex_;
  std::optional<int64_t> seen_;     ///< change time of the folder, if it exists
  std::vector<std::string> names_;  ///< of the tools that it added
};

/// Records that a person adds tools (kToolsAdded) or removes some (kToolsRemoved), before it is
/// done. `input` names them.
/// Errors: kRefused `tool.by_agent` when `who` is an agent; the audit log's.
Result<void> record_admission(const Workspace& workspace, const TransactionOptions& who,
                              AuditKind kind, nlohmann::ordered_json input);

/// Records and stores the tools of a folder. They can be called after the next open.
/// Errors: as record_admission and trust_tools.
Result<void> admit_tools(const Workspace& workspace, const TransactionOptions& who,
                         const UserSettings& settings, const ToolFolder& folder);

/// Records and carries out the removal of a tool. Returns false if no tool has that name.
/// Errors: as record_admission.
Result<bool> remove_stored_tool(const Workspace& workspace, const TransactionOptions& who,
                                const UserSettings& settings, const std::string& name);

/// Adds a tool that the program defines, with its agents and its table `[tools.NAME]`.
/// Errors: those of ToolRegistry::add; kInvalid `tool.no_function`.
Result<void> add_own_tool(const Rules& rules, ToolRegistry& registry, ToolDefinition tool);

}  // namespace galley
