#include "engine/pipeline/stored_tools.h"

#include <cerrno>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "engine/pipeline/custom_tools.h"
#include "engine/pipeline/grant_store.h"
#include "engine/pipeline/mcp_servers.h"
#include "engine/pipeline/workspace_state.h"
#include "staging/fs/disk_directory.h"
#include "tools/tool_factory.h"

namespace galley {

StoredTools::StoredTools(const Workspace& workspace)
    : workspace_(&workspace), folder_("/" + ContentId::of(workspace.root_path()).hex()) {
  if (const auto now = stamp()) seen_ = *now;
  if (auto all = names()) names_ = *std::move(all);
}

/// Each addition and removal changes the folder itself (custom_tools.cc, mcp_servers.cc).
Result<std::optional<int64_t>> StoredTools::stamp() const {
  const std::string& tools = rules_of(*workspace_).user.tools_path;
  if (tools.empty()) return std::optional<int64_t>();
  const auto home = stat_disk_directory(tools + folder_);
  const bool is_absent =
      !home && (home.error().kind == ErrorKind::kNotFound || home.error().os_error == EACCES);
  if (is_absent) return std::optional<int64_t>();
  if (!home) return fail(home.error());
  return std::optional(home->ctime_ns);
}

Result<std::vector<std::string>> StoredTools::names() const {
  std::vector<std::string> all;
  GALLEY_ASSIGN(const auto folders,
                trusted_tools(rules_of(*workspace_).user, workspace_->root_path()));
  for (const TrustedTools& folder : folders) {
    all.insert(all.end(), folder.names.begin(), folder.names.end());
  }
  GALLEY_ASSIGN(const auto servers,
                trusted_mcp_servers(rules_of(*workspace_).user, workspace_->root_path()));
  for (const TrustedMcpServer& server : servers) {
    for (const auto& definition : server.definitions) {
      all.push_back(server.name + "." + definition.at("name").get<std::string>());
    }
  }
  return all;
}

bool are_rules_outdated(const Workspace& workspace) {
  const WorkspaceState& state = WorkspaceAccess::of(workspace);
  return state.rules.are_outdated(state.place, state.options);
}

Result<std::vector<std::string>> read_rules_again(const Workspace& workspace) {
  WorkspaceState& state = WorkspaceAccess::of(workspace);
  GALLEY_ASSIGN(auto notices, state.rules.read(state.place, state.options));
  state.tools.follow_rules();
  GALLEY_ASSIGN(const auto unknown, state.tools.unknown_tools());
  notices.insert(notices.end(), unknown.begin(), unknown.end());
  return notices;
}

Result<bool> StoredTools::refresh() {
  const std::lock_guard lock(mutex_);
  GALLEY_ASSIGN(const auto now, stamp());
  if (now == seen_) return false;
  GALLEY_ASSIGN(ToolRegistry * registry, tools_of(*workspace_).registry());
  GALLEY_ASSIGN(auto all, names());
  seen_ = now;
  for (const std::string& name : std::exchange(names_, std::move(all))) registry->remove(name);
  GALLEY_TRY(add_custom_tools(*registry, rules_of(*workspace_).user, workspace_->root_path()));
  GALLEY_TRY(add_mcp_servers(*registry, rules_of(*workspace_).user, workspace_->root_path()));
  return true;
}

namespace {

using nlohmann::ordered_json;

Error tools_by_agent() {
  return {ErrorKind::kRefused, "tool.by_agent",
          "only a person may add or remove tools: leave out --agent"};
}

}  // namespace

Result<void> record_admission(const Workspace& workspace, const TransactionOptions& who,
                              AuditKind kind, ordered_json input) {
  AuditEvent event;
  event.kind = kind;
  event.tool = kind == AuditKind::kToolsAdded ? "tools.add" : "tools.remove";
  event.input = std::make_shared<const ordered_json>(std::move(input));
  return record_person_decision(rules_of(workspace), persistent_of(workspace), who,
                                std::move(event), tools_by_agent(), [] { return Result<void>(); });
}

Result<void> admit_tools(const Workspace& workspace, const TransactionOptions& who,
                         const UserSettings& settings, const ToolFolder& folder) {
  GALLEY_TRY(check_tools_have_a_place(settings, workspace.root_path()));
  ordered_json names = ordered_json::array();
  for (const CustomManifest& manifest : folder.manifests) names.push_back(manifest.info.name);
  GALLEY_TRY(record_admission(
      workspace, who, AuditKind::kToolsAdded,
      {{"folder", folder.path}, {"hash", folder.hash.hex()}, {"tools", std::move(names)}}));
  return trust_tools(settings, workspace.root_path(), folder,
                     place_of(workspace).clock().wall_ns());
}

Result<bool> remove_stored_tool(const Workspace& workspace, const TransactionOptions& who,
                                const UserSettings& settings, const std::string& name) {
  GALLEY_TRY(record_admission(workspace, who, AuditKind::kToolsRemoved, {{"tool", name}}));
  return forget_tool(settings, workspace.root_path(), name);
}

namespace {

ToolPrecedence precedence_of(const ToolDefinition& tool) {
  ToolPrecedence precedence;
  precedence.priority = tool.priority;
  precedence.availability.agents = tool.agents;
  precedence.availability.capabilities = tool.required_capabilities;
  precedence.depends_only_on_contents = tool.depends_only_on_contents;
  if (tool.is_available) {
    precedence.availability.holds = [holds = tool.is_available](const ToolCaller& caller) {
      try {
        return holds(caller.agent, caller.session);
      } catch (...) {
        return false;  // a tool that throws is not available
      }
    };
  }
  return precedence;
}

/// Makes the tool at its first call. `[tools.NAME] config` is added to the settings that it takes.
ToolFactory factory_of(ToolDefinition tool, std::map<std::string, std::string> config) {
  ToolFactory factory;
  factory.info = tool.info;
  factory.needs = tool.needs;
  factory.takes = tool.takes;
  factory.sanitize = tool.sanitize;
  factory.make = [tool = std::move(tool), config = std::move(config)](
                     const ToolDependencies& given) -> Result<ToolInstance> {
    ToolDependencies all = given;
    all["config"] = config;
    GALLEY_ASSIGN(ToolDefinition::Instance made, tool.make(all));
    ToolDefinition once;
    once.info = tool.info;
    once.run = std::move(made.run);
    GALLEY_ASSIGN(auto runs, make_defined_tool(std::move(once)));
    return ToolInstance{std::move(runs), std::move(made.check_health), std::move(made.close)};
  };
  return factory;
}

}  // namespace

Result<void> add_own_tool(const Rules& rules, ToolRegistry& registry, ToolDefinition tool) {
  ToolPrecedence precedence = precedence_of(tool);
  if (!tool.make) {
    GALLEY_ASSIGN(auto made, make_defined_tool(std::move(tool)));
    return registry.add(std::move(made), std::move(precedence));
  }
  const auto config = rules.config.tools.find(tool.info.name);
  return registry.add(factory_of(std::move(tool), config == rules.config.tools.end()
                                                      ? std::map<std::string, std::string>()
                                                      : config->second.config),
                      std::move(precedence));
}

}  // namespace galley
