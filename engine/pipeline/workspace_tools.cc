#include <galley/workspace.h>

#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/nearest_name.h"
#include "engine/calls/call_supervisor.h"
#include "engine/calls/early_policy.h"
#include "engine/pipeline/workspace_state.h"
#include "tools/check_arguments.h"
#include "tools/defined_tool.h"
#include "tools/standard_tools.h"
#include "tools/tool_view.h"

namespace galley {
namespace {

ToolStanding standing_of(const ToolDefinition& tool) {
  ToolStanding standing;
  standing.priority = tool.priority;
  standing.availability.agents = tool.agents;
  standing.availability.capabilities = tool.only_if_given;
  standing.follows_from_contents = tool.follows_from_contents;
  if (tool.is_available) {
    standing.availability.holds = [holds = tool.is_available](const ToolCaller& caller) {
      return holds(caller.agent, caller.session);
    };
  }
  return standing;
}

/// A definition that is made at its first call, with `[tools.NAME] config` beside what it names.
ToolFactory factory_of(ToolDefinition tool, std::map<std::string, std::string> config) {
  ToolFactory factory;
  factory.info = tool.info;
  factory.needs = tool.needs;
  factory.takes = tool.takes;
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

Result<void> add_own_tool(const WorkspaceState& workspace, ToolRegistry& registry,
                          ToolDefinition tool) {
  ToolStanding standing = standing_of(tool);
  if (!tool.make) {
    GALLEY_ASSIGN(auto made, make_defined_tool(std::move(tool)));
    return registry.add(std::move(made), std::move(standing));
  }
  const auto config = workspace.config.tools.find(tool.info.name);
  return registry.add(factory_of(std::move(tool), config == workspace.config.tools.end()
                                                      ? std::map<std::string, std::string>()
                                                      : config->second.config),
                      std::move(standing));
}

}  // namespace

Result<ToolRegistry*> WorkspaceState::need_registry() {
  const std::lock_guard guard(mutex);
  if (registry == nullptr) {
    auto made = std::make_unique<ToolRegistry>();
    GALLEY_TRY(add_standard_tools(*made));
    made->set_dependencies(options.dependencies);
    for (ToolDefinition& own : options.tools) {
      GALLEY_TRY(add_own_tool(*this, *made, std::move(own)));
    }
    options.tools.clear();
    for (const auto& [name, tool] : config.tools) made->set_enabled(name, tool.is_enabled);
    registry = std::move(made);
  }
  return registry.get();
}

CallSupervisor& WorkspaceState::need_supervisor() {
  const std::lock_guard guard(mutex);
  if (supervisor == nullptr) supervisor = std::make_unique<CallSupervisor>(clock(), config.tools);
  return *supervisor;
}

/// A table of a name that no tool has may be meant for one that is added later, or be a slip.
Result<void> WorkspaceState::look_for_unknown_tools() {
  if (config.tools.empty()) return {};
  GALLEY_ASSIGN(const ToolRegistry* tools, need_registry());
  std::vector<std::string> names;
  for (const ToolRegistry::Status& status : tools->statuses()) names.push_back(status.info.name);
  for (const auto& [name, tool] : config.tools) {
    if (tools->has(name)) continue;
    notices.push_back(config.file + ":" + std::to_string(tool.line) + ": [tools." + name +
                      "] is about no tool that there is now" + did_you_mean(name, names));
  }
  return {};
}

ToolCaller WorkspaceState::caller(const std::string& agent, const std::string& session) const {
  const EarlyPolicy early(config, Principals(agent), nullptr);
  return {agent, early.capabilities(), session};
}

Result<void> Workspace::add_tool(ToolDefinition tool) {
  GALLEY_ASSIGN(ToolRegistry * registry, state_->need_registry());
  return add_own_tool(*state_, *registry, std::move(tool));
}

Result<void> Workspace::remove_tool(std::string_view name) {
  GALLEY_ASSIGN(ToolRegistry * registry, state_->need_registry());
  GALLEY_TRY(registry->get(name));
  registry->remove(name);
  return {};
}

Result<void> Workspace::enable_tool(const std::string& name, bool is_enabled) {
  GALLEY_ASSIGN(ToolRegistry * registry, state_->need_registry());
  GALLEY_TRY(registry->get(name));
  const auto config = state_->config.tools.find(name);
  if (is_enabled && config != state_->config.tools.end() && !config->second.is_enabled) {
    return fail(ErrorKind::kRefused, "tool.disabled",
                state_->config.file + ":" + std::to_string(config->second.line) +
                    " disables the tool '" + name + "'; change it there");
  }
  registry->set_enabled(name, is_enabled);
  return {};
}

Result<std::vector<ToolInfo>> Workspace::tools(const std::string& agent) const {
  GALLEY_ASSIGN(const ToolRegistry* registry, state_->need_registry());
  const auto mode =
      state_->options.reads_only ? ToolRegistry::Mode::kReadOnly : ToolRegistry::Mode::kAll;
  return ToolView(*registry, state_->caller(agent), mode).list();
}

Result<std::vector<std::string>> Workspace::check_call(std::string_view tool,
                                                       std::string_view json_arguments,
                                                       const std::string& agent) const {
  GALLEY_ASSIGN(const ToolRegistry* registry, state_->need_registry());
  GALLEY_ASSIGN(const auto found, ToolView(*registry, state_->caller(agent)).find(tool));
  std::vector<std::string> errors;
  for (const SchemaViolation& one :
       check_arguments(*found.front(), json_arguments, state_->root_path)) {
    errors.push_back((one.pointer.empty() ? "" : one.pointer + ": ") + one.message);
  }
  return errors;
}

}  // namespace galley
