#include <galley/workspace.h>

#include <mutex>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/nearest_name.h"
#include "engine/calls/call_supervisor.h"
#include "engine/calls/early_policy.h"
#include "engine/pipeline/own_tools.h"
#include "engine/pipeline/workspace_state.h"
#include "tools/registry.h"
#include "tools/tool_view.h"

namespace galley {
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
  return {agent, session, [early](std::string_view needed) { return early.gives(needed); }};
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

namespace {

ToolRegistry::Mode mode_of(const WorkspaceState& state) {
  return state.options.reads_only ? ToolRegistry::Mode::kReadOnly : ToolRegistry::Mode::kAll;
}

}  // namespace

Result<std::vector<ToolInfo>> Workspace::tools(const std::string& agent) const {
  GALLEY_ASSIGN(const ToolRegistry* registry, state_->need_registry());
  GALLEY_TRY(state_->refresh_grants());
  return ToolView(*registry, state_->caller(agent), mode_of(*state_)).list();
}

Result<ToolInfo> Workspace::tool(std::string_view name, const std::string& agent) const {
  GALLEY_ASSIGN(const ToolRegistry* registry, state_->need_registry());
  GALLEY_TRY(state_->refresh_grants());
  GALLEY_ASSIGN(const auto found,
                ToolView(*registry, state_->caller(agent), mode_of(*state_)).find(name));
  return found.front()->tool->info();
}

Result<std::vector<std::string>> Workspace::check_call(std::string_view tool,
                                                       std::string_view json_arguments,
                                                       const std::string& agent) const {
  GALLEY_ASSIGN(const ToolRegistry* registry, state_->need_registry());
  GALLEY_TRY(state_->refresh_grants());
  GALLEY_ASSIGN(const auto found, ToolView(*registry, state_->caller(agent)).find(tool));
  std::vector<std::string> errors;
  for (const SchemaViolation& one :
       check_arguments(*found.front(), json_arguments, state_->root_path)) {
    errors.push_back((one.pointer.empty() ? "" : one.pointer + ": ") + one.message);
  }
  return errors;
}

}  // namespace galley
