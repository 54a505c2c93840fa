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
  /// Remembers the present stored tools, because a new registry already has them.
  explicit StoredTools(const Workspace& workspace);

  /// Updates the registry. Returns whether anything changed. Costs one stat if nothing changed.
  Result<bool> refresh();

 private:
  [[nodiscard]] Result<std::optional<int64_t>> stamp() const;
  [[nodiscard]] Result<std::vector<std::string>> names() const;

  const Workspace* workspace_;
  std::string folder_;  ///< of this workspace, below UserSettings::tools_path
  std::mutex mutex_;
  std::optional<int64_t> seen_;     ///< change time of the folder, if it exists
  std::vector<std::string> names_;  ///< of the stored tools in the registry
};

/// Rules::are_outdated() of an open workspace.
[[nodiscard]] bool are_rules_outdated(const Workspace& workspace);

/// Reads galley.toml of an open workspace again. Returns notices, one line each. No other thread
/// may use the workspace, and none of its transactions may be open.
/// Errors: those of Workspace::open() about galley.toml; then the rules stay outdated.
Result<std::vector<std::string>> read_rules_again(const Workspace& workspace);

/// Records that a person is about to add tools (kToolsAdded) or remove tools (kToolsRemoved).
/// `input` names them.
/// Errors: kRefused `tool.by_agent` if `who` is an agent; those of the audit log.
Result<void> record_admission(const Workspace& workspace, const TransactionOptions& who,
                              AuditKind kind, nlohmann::ordered_json input);

/// Records and stores the tools of a folder. They can be called after the next Workspace::open().
/// Errors: as record_admission and trust_tools.
Result<void> admit_tools(const Workspace& workspace, const TransactionOptions& who,
                         const UserSettings& settings, const ToolFolder& folder);

/// Records and carries out the removal of a tool. Returns false if no tool has that name.
/// Errors: as record_admission.
Result<bool> remove_stored_tool(const Workspace& workspace, const TransactionOptions& who,
                                const UserSettings& settings, const std::string& name);

/// Adds a tool that a program defines, with its agents and its table `[tools.NAME]`.
/// Errors: those of ToolRegistry::add; kInvalid `tool.no_function`.
Result<void> add_own_tool(const Rules& rules, ToolRegistry& registry, ToolDefinition tool);

}  // namespace galley
