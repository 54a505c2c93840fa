#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace galley {

struct WorkspaceState;

/// Keeps the registry of an open workspace with what people add and take away meanwhile: custom
/// tools and those of MCP servers (custom_tools.h, mcp_servers.h).
///
/// Ownership: borrows the workspace. Threads: safe to share.
/// Errors:    those of add_custom_tools; the registry then has what could be added.
class KeptTools {
 public:
  /// What is kept now counts as taken in: the registry reads it when it is made.
  explicit KeptTools(WorkspaceState& workspace);

  /// Takes in what changed since; true when something did. One look at a folder when nothing did.
  Result<bool> refresh();

 private:
  [[nodiscard]] Result<std::optional<int64_t>> stamp() const;
  [[nodiscard]] Result<std::vector<std::string>> names() const;

  WorkspaceState* workspace_;
  std::mutex mutex_;
  std::optional<int64_t> seen_;     ///< change time of the folder; absent: there is none
  std::vector<std::string> names_;  ///< of the tools that were taken in
};

}  // namespace galley
