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

/// Keeps the registry of an open workspace with what people add and take away meanwhile: custom
/// tools and those of MCP servers (custom_tools.h, mcp_servers.h).
///
/// Ownership: borrows the workspace. Threads: safe to share.
/// Errors:    those of add_custom_tools; the registry then has what could be added.
class KeptTools {
 public:
  /// What is kept now counts as taken in: the registry reads it when it is made.
  explicit KeptTools(const Workspace& workspace);

  /// Takes in what changed since; true when something did. One look at a folder when nothing did.
  Result<bool> refresh();

 private:
  [[nodiscard]] Result<std::optional<int64_t>> stamp() const;
  [[nodiscard]] Result<std::vector<std::string>> names() const;

  const Workspace* workspace_;
  std::mutex mutex_;
  std::optional<int64_t> seen_;     ///< change time of the folder; absent: there is none
  std::vector<std::string> names_;  ///< of the tools that were taken in
};

/// Puts on record that a person adds tools (kToolsAdded) or takes some away (kToolsRemoved), before
/// it is done. `input` says which.
/// Errors: kRefused `tool.by_agent` when `who` is an agent; the audit log's.
Result<void> record_admission(const Workspace& workspace, const TransactionOptions& who,
                              AuditKind kind, nlohmann::ordered_json input);

/// Lets a workspace have the tools of a folder: on record, then kept, and from the next open on
/// they can be called.
/// Errors: as record_admission and trust_tools.
Result<void> admit_tools(const Workspace& workspace, const TransactionOptions& who,
                         const UserSettings& settings, const ToolFolder& folder);

/// Takes one of them away: on record, then gone. False when there is none of that name.
/// Errors: as record_admission.
Result<bool> dismiss_tool(const Workspace& workspace, const TransactionOptions& who,
                          const UserSettings& settings, const std::string& name);

/// Adds a tool that the program defines, with who may call it and what `[tools.NAME]` says to it.
/// Errors: those of ToolRegistry::add; kInvalid `tool.no_function`.
Result<void> add_own_tool(const Rules& rules, ToolRegistry& registry, ToolDefinition tool);

}  // namespace galley
