#include "engine/pipeline/kept_tools.h"

#include <cerrno>
#include <utility>

#include "engine/pipeline/custom_tools.h"
#include "engine/pipeline/mcp_servers.h"
#include "engine/pipeline/workspace_state.h"
#include "staging/fs/disk_directory.h"

namespace galley {

KeptTools::KeptTools(WorkspaceState& workspace) : workspace_(&workspace) {
  if (const auto now = stamp()) seen_ = *now;
  if (auto all = names()) names_ = *std::move(all);
}

/// Each addition and removal changes the folder itself (custom_tools.cc, mcp_servers.cc).
Result<std::optional<int64_t>> KeptTools::stamp() const {
  const std::string& tools = workspace_->user.tools_path;
  if (tools.empty()) return std::optional<int64_t>();
  const auto home = open_disk_directory(tools + "/" + ContentId::of(workspace_->root_path).hex());
  const bool is_absent =
      !home && (home.error().kind == ErrorKind::kNotFound || home.error().os_error == EACCES);
  if (is_absent) return std::optional<int64_t>();
  if (!home) return fail(home.error());
  GALLEY_ASSIGN(const FileStat stat, (*home)->stat(RelPath::root()));
  return std::optional(stat.ctime_ns);
}

Result<std::vector<std::string>> KeptTools::names() const {
  std::vector<std::string> all;
  GALLEY_ASSIGN(const auto folders, trusted_tools(workspace_->user, workspace_->root_path));
  for (const TrustedTools& folder : folders) {
    all.insert(all.end(), folder.names.begin(), folder.names.end());
  }
  GALLEY_ASSIGN(const auto servers, trusted_mcp_servers(workspace_->user, workspace_->root_path));
  for (const TrustedMcpServer& server : servers) {
    for (const auto& definition : server.definitions) {
      all.push_back(server.name + "." + definition.at("name").get<std::string>());
    }
  }
  return all;
}

Result<bool> KeptTools::refresh() {
  const std::lock_guard lock(mutex_);
  GALLEY_ASSIGN(const auto now, stamp());
  if (now == seen_) return false;
  GALLEY_ASSIGN(ToolRegistry * registry, workspace_->need_registry());
  GALLEY_ASSIGN(auto all, names());
  seen_ = now;
  for (const std::string& name : std::exchange(names_, std::move(all))) registry->remove(name);
  GALLEY_TRY(add_custom_tools(*registry, workspace_->user, workspace_->root_path));
  GALLEY_TRY(add_mcp_servers(*registry, workspace_->user, workspace_->root_path));
  return true;
}

}  // namespace galley
