// Decisions of people in addition to galley.toml: grants, revocations, and approvals of calls.
#include <nlohmann/json.hpp>
#include <utility>

#include <galley/workspace.h>
#include "engine/pipeline/asked_calls.h"
#include "engine/pipeline/grant_store.h"
#include "engine/pipeline/stored_tools.h"
#include "engine/pipeline/workspace_state.h"
#include "engine/policy/policy.h"
#include "engine/policy/principals.h"
#include "tools/profiles.h"
#include "tools/registry.h"
#include "tools/tool_view.h"

namespace galley {

Result<void> Workspace::add_tool(ToolDefinition tool) {
  GALLEY_ASSIGN(ToolRegistry * registry, state_->tools.registry());
  return add_own_tool(state_->rules, *registry, std::move(tool));
}

Result<void> Workspace::remove_tool(std::string_view name) {
  GALLEY_ASSIGN(ToolRegistry * registry, state_->tools.registry());
  GALLEY_TRY(registry->get(name));
  registry->remove(name);
  return {};
}

Result<void> Workspace::clear_tools() {
  GALLEY_ASSIGN(ToolRegistry * registry, state_->tools.registry());
  registry->clear();
  return {};
}

bool Workspace::has_tool(std::string_view name) const {
  const auto registry = state_->tools.registry();
  return registry && (*registry)->has(name);
}

Result<void> Workspace::enable_tool(const std::string& name, bool is_enabled) {
  GALLEY_ASSIGN(ToolRegistry * registry, state_->tools.registry());
  GALLEY_TRY(registry->get(name));
  const auto config = state_->rules.config.tools.find(name);
  if (is_enabled && config != state_->rules.config.tools.end() && !config->second.is_enabled) {
    return fail(ErrorKind::kRefused, "tool.disabled",
                state_->rules.config.file + ":" + std::to_string(config->second.line) +
                    " disables the tool '" + name + "'; change it there");
  }
  registry->set_enabled(name, is_enabled);
  return {};
}

Result<std::vector<ToolInfo>> Workspace::tools(const std::string& agent) const {
  GALLEY_ASSIGN(const ToolRegistry* registry, state_->tools.registry());
  GALLEY_TRY(state_->rules.refresh_grants(state_->persistent));
  std::vector<ToolInfo> listed =
      ToolView(*registry, state_->rules.caller(agent), state_->tools.mode()).list();
  const Policy policy(state_->rules.config);
  const std::string_view profile_name = policy.tool_profile(agent);
  const auto profile = profile_named(profile_name);
  std::erase_if(listed, [&](const ToolInfo& info) {
    const bool is_in_profile = profile_name.empty() || (profile && (*profile)->shows(info.name));
    return !is_in_profile ||
           policy.judge_tool(info.name, Principals(agent)).decision == Decision::kDeny;
  });
  return listed;
}

Result<ToolInfo> Workspace::tool(std::string_view name, const std::string& agent) const {
  GALLEY_ASSIGN(const ToolRegistry* registry, state_->tools.registry());
  GALLEY_TRY(state_->rules.refresh_grants(state_->persistent));
  GALLEY_ASSIGN(const auto found,
                ToolView(*registry, state_->rules.caller(agent), state_->tools.mode()).find(name));
  return found.front()->tool->info();
}

Result<Workspace::ValidationResult> Workspace::check_call(std::string_view tool,
                                                          std::string_view json_arguments,
                                                          const std::string& agent) const {
  GALLEY_ASSIGN(const ToolRegistry* registry, state_->tools.registry());
  GALLEY_TRY(state_->rules.refresh_grants(state_->persistent));
  GALLEY_ASSIGN(const auto found, ToolView(*registry, state_->rules.caller(agent)).find(tool));
  std::vector<std::string> errors;
  for (const SchemaViolation& one :
       check_arguments(*found.front(), json_arguments, state_->place.path)) {
    errors.push_back((one.pointer.empty() ? "" : one.pointer + ": ") + one.message);
  }
  return ValidationResult{errors.empty(), std::move(errors)};
}

Result<Workspace::HealthStatus> Workspace::tool_health(const std::string& name,
                                                       const std::string& agent) const {
  GALLEY_ASSIGN(const ToolRegistry* registry, state_->tools.registry());
  GALLEY_TRY(state_->rules.refresh_grants(state_->persistent));
  GALLEY_ASSIGN(const auto found, ToolView(*registry, state_->rules.caller(agent)).find(name));
  if (state_->tools.supervisor().health_of(name) == ToolHealth::State::kOut) {
    return HealthStatus{false, "it failed several times in a row and is disabled for a while"};
  }
  const ToolRegistry::Entry& entry = *found.front();
  const auto checked = entry.factory != nullptr
                           ? entry.factory->check_health()
                           : entry.tool->check_workspace(state_->place.files(), state_->place.path);
  return checked ? HealthStatus() : HealthStatus{false, checked.error().message};
}

Result<void> Workspace::grant(const std::string& agent, const std::string& capability,
                              const std::string& by, const TransactionOptions& who) {
  return record_grant(state_->rules, state_->persistent, who, {agent, capability, false, by, 0});
}

Result<void> Workspace::revoke(const std::string& agent, const std::string& capability,
                               const std::string& by, const TransactionOptions& who) {
  return record_grant(state_->rules, state_->persistent, who, {agent, capability, true, by, 0});
}

Result<std::vector<Workspace::Grant>> Workspace::grants() const {
  if (state_->persistent.state() == nullptr) return std::vector<Grant>();
  return GrantStore(*state_->persistent.state()).list();
}

Result<void> Workspace::confirm(const std::string& id, const std::string& by,
                                const TransactionOptions& who) {
  GALLEY_TRY(state_->persistent.ensure());
  const ConfirmationStore asked(*state_->persistent.state());
  const int64_t now = state_->place.clock().wall_ns();
  GALLEY_ASSIGN(const AskedCall call, asked.find(id, now));
  AuditEvent event;
  event.kind = AuditKind::kConfirmation;
  event.tool = call.question.tool;
  event.reason = "given beforehand by " + by;
  event.input = std::make_shared<const nlohmann::ordered_json>(
      nlohmann::ordered_json{{"call", call.id.hex()}, {"agent", call.question.agent}});
  const Error no_agent{ErrorKind::kRefused, "approval.by_agent",
                       "only a person may approve: leave out --agent"};
  GALLEY_TRY(record_person_decision(state_->rules, state_->persistent, who, std::move(event),
                                    no_agent, [] { return Result<void>(); }));
  return asked.give(call, by, now);
}

Result<std::vector<CallOptions::Question>> Workspace::pending_confirmations() const {
  std::vector<CallOptions::Question> questions;
  if (state_->persistent.state() == nullptr) return questions;
  GALLEY_ASSIGN(
      auto calls,
      ConfirmationStore(*state_->persistent.state()).list(state_->place.clock().wall_ns()));
  for (AskedCall& call : calls) {
    if (call.by.empty()) questions.push_back(std::move(call.question));
  }
  return questions;
}

}  // namespace galley
