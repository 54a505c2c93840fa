// What people say beside galley.toml: grants, revocations, and a yes to one call.
#include <mutex>
#include <nlohmann/json.hpp>
#include <utility>

#include <galley/workspace.h>
#include "base/text.h"
#include "engine/calls/call_supervisor.h"
#include "engine/calls/early_policy.h"
#include "engine/pipeline/asked_calls.h"
#include "engine/pipeline/kept_grants.h"
#include "engine/pipeline/kept_tools.h"
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

Result<void> Workspace::clear_tools() {
  GALLEY_ASSIGN(ToolRegistry * registry, state_->need_registry());
  registry->clear();
  return {};
}

bool Workspace::has_tool(std::string_view name) const {
  const auto registry = state_->need_registry();
  return registry && (*registry)->has(name);
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

Result<Workspace::HealthStatus> Workspace::tool_health(const std::string& name,
                                                       const std::string& agent) const {
  GALLEY_ASSIGN(const ToolRegistry* registry, state_->need_registry());
  GALLEY_TRY(state_->refresh_grants());
  GALLEY_ASSIGN(const auto found, ToolView(*registry, state_->caller(agent)).find(name));
  if (state_->need_supervisor().health_of(name) == ToolHealth::State::kOut) {
    return HealthStatus{false, "it failed several times in a row and is out for a while"};
  }
  const FactoryTool* factory = found.front()->factory;
  const auto checked = factory != nullptr ? factory->check_health() : Result<void>();
  return checked ? HealthStatus() : HealthStatus{false, checked.error().message};
}

namespace {

/// A change made in the same tick of the file system's clock as the look before it does not show in
/// the folder's times: what changed just now is read again (as git does with its index).
constexpr int64_t kSettledAfterNs = 2'000'000'000;

}  // namespace

Result<void> WorkspaceState::refresh_grants() {
  if (!state_directory) return {};
  const KeptGrants kept(*state_directory);
  const std::lock_guard guard(grants_mutex);
  GALLEY_ASSIGN(const FileStat now, kept.stat());
  if (grants_seen && *grants_seen == now) return {};
  const bool is_settled =
      now.kind == FileKind::kAbsent || system_clock.wall_ns() - now.ctime_ns > kSettledAfterNs;
  grants_seen = is_settled ? std::optional(now) : std::nullopt;
  const auto all = kept.list();
  auto pages = all ? pages_of(*all) : Result<GrantBook::Pages>(all.error());
  if (pages) {
    grant_book->replace(*std::move(pages));
    return {};
  }
  grants_seen.reset();
  grant_book->revoke_everything();
  return fail(pages.error());
}

Result<void> Workspace::grant(const std::string& agent, const std::string& capability,
                              const std::string& by, const TransactionOptions& who) {
  return say_grant(*state_, who, {agent, capability, false, by, 0});
}

Result<void> Workspace::revoke(const std::string& agent, const std::string& capability,
                               const std::string& by, const TransactionOptions& who) {
  return say_grant(*state_, who, {agent, capability, true, by, 0});
}

Result<std::vector<Workspace::Grant>> Workspace::grants() const {
  if (!state_->state_directory) return std::vector<Grant>();
  return KeptGrants(*state_->state_directory).list();
}

Result<void> Workspace::confirm(const std::string& id, const std::string& by,
                                const TransactionOptions& who) {
  GALLEY_TRY(state_->need_state());
  const AskedCalls asked(*state_->state_directory);
  const int64_t now = state_->clock().wall_ns();
  GALLEY_ASSIGN(const AskedCall call, asked.find(id, now));
  AuditEvent event;
  event.kind = AuditKind::kConfirmation;
  event.tool = call.question.tool;
  event.reason = "given beforehand by " + by;
  event.input = std::make_shared<const nlohmann::ordered_json>(
      nlohmann::ordered_json{{"call", call.id.hex()}, {"agent", call.question.agent}});
  const Error no_agent{ErrorKind::kRefused, "approval.by_agent",
                       "an agent does not approve; have a person say it, without --agent", "", 0};
  GALLEY_TRY(
      say_as_person(*state_, who, std::move(event), no_agent, [] { return Result<void>(); }));
  return asked.give(call, by, now);
}

Result<std::vector<CallOptions::Question>> Workspace::asked_calls() const {
  std::vector<CallOptions::Question> questions;
  if (!state_->state_directory) return questions;
  GALLEY_ASSIGN(auto calls, AskedCalls(*state_->state_directory).list(state_->clock().wall_ns()));
  for (AskedCall& call : calls) {
    if (call.by.empty()) questions.push_back(std::move(call.question));
  }
  return questions;
}

}  // namespace galley
