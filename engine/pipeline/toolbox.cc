#include "engine/pipeline/toolbox.h"

#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/file_mode.h"
#include "base/result.h"
#include "base/text.h"
#include "engine/agent_tools/git_commit.h"
#include "engine/agent_tools/graph_query.h"
#include "engine/calls/guarded_runner.h"
#include "engine/pipeline/custom_tools.h"
#include "engine/pipeline/disk_validator_cache.h"
#include "engine/pipeline/grant_store.h"
#include "engine/pipeline/mcp_servers.h"
#include "engine/pipeline/stored_tools.h"
#include "engine/pipeline/workspace_state.h"
#include "tools/registry.h"
#include "tools/standard_tools.h"

namespace galley {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr const char* kInput = R"({
  "type": "object", "required": ["agent", "capability"], "additionalProperties": false,
  "properties": {
    "agent": {"type": "string", "description": "Name of the agent", "minLength": 1},
    "capability": {"type": "string", "minLength": 1,
                   "description": "For example custom:deploy, git:commit or fs:write:src/**"}}})";
constexpr const char* kOutput = R"({
  "type": "object", "required": ["agent", "capability", "granted"], "additionalProperties": false,
  "properties": {
    "agent": {"type": "string"}, "capability": {"type": "string"},
    "granted": {"type": "boolean", "description": "whether the agent was given it, or lost it"}}})";

ToolInfo info_of(bool is_revocation) {
  ToolInfo info;
  info.name = is_revocation ? "sec.revoke" : "sec.grant";
  info.title = is_revocation ? "Take a capability from an agent" : "Give an agent a capability";
  info.description = is_revocation
                         ? "Takes a capability from an agent, also one that galley.toml gives. It "
                           "counts from the next call on."
                         : "Gives an agent a capability, never one that galley.toml denies. It "
                           "counts from the next call on.";
  info.input_schema = kInput;
  info.output_schema = kOutput;
  info.annotations.idempotent = true;
  info.capabilities = {is_revocation ? "sec:revoke" : "sec:grant"};
  info.namespace_name = "sec";
  info.risk_level = is_revocation ? ToolInfo::Risk::kMedium : ToolInfo::Risk::kCritical;
  info.security_tier = ToolInfo::Tier::kRestricted;
  info.requires_confirmation = !is_revocation;
  info.is_reversible = true;
  info.rollback_tool = is_revocation ? "sec.grant" : "sec.revoke";
  info.examples = {R"({"agent":"bot","capability":"custom:deploy"})"};
  return info;
}

class SecurityTool final : public Tool {
 public:
  SecurityTool(const Rules& rules, PersistentState& persistent, bool is_revocation)
      : rules_(&rules),
        persistent_(&persistent),
        is_revocation_(is_revocation),
        info_(info_of(is_revocation)) {}

  [[nodiscard]] const ToolInfo& info() const override { return info_; }

  /// It touches no path. Its effect cannot be reverted, so it must be recorded first.
  Result<Intent> intent(const json& /*args*/, const PathOrigin& /*origin*/) const override {
    Intent intent;
    intent.is_open_ended = true;
    return intent;
  }

  ToolResult run(const json& args, ToolContext& context) const override {
    Grant grant;
    grant.agent = args.at("agent").get<std::string>();
    grant.capability = args.at("capability").get<std::string>();
    grant.is_revoked = is_revocation_;
    grant.by = "a call of the tool " + info_.name;
    const ordered_json data = {
        {"agent", grant.agent}, {"capability", grant.capability}, {"granted", !is_revocation_}};
    TransactionOptions who;
    who.agent = context.agent;
    const auto said = record_grant(*rules_, *persistent_, who, std::move(grant));
    return said ? ToolResult::success(data) : ToolResult::failure(tool_error_from(said.error()));
  }

 private:
  const Rules* rules_;
  PersistentState* persistent_;
  bool is_revocation_;
  ToolInfo info_;
};

/// `galley audit verify` as a tool.
class AuditTool final : public Tool {
 public:
  explicit AuditTool(const PersistentState& persistent) : persistent_(&persistent) {
    info_.name = "sec.audit";
    info_.title = "Check the audit log";
    info_.description = "Checks the chain of the audit log and lists what is wrong with it.";
    info_.input_schema = R"({"type": "object", "additionalProperties": false})";
    info_.output_schema = R"({
      "type": "object", "required": ["intact", "records", "defects"],
      "additionalProperties": false,
      "properties": {
        "intact": {"type": "boolean"}, "records": {"type": "integer"},
        "defects": {"type": "array", "items": {"type": "object",
                                               "required": ["line", "reason", "message"]}}}})";
    info_.annotations = {.read_only = true, .idempotent = true};
    info_.capabilities = {"audit:read"};
    info_.risk_level = ToolInfo::Risk::kLow;
    info_.security_tier = ToolInfo::Tier::kStandard;
    info_.examples = {"{}"};
  }

  [[nodiscard]] const ToolInfo& info() const override { return info_; }
  Result<Intent> intent(const json& /*args*/, const PathOrigin& /*origin*/) const override {
    return Intent();
  }
  ToolResult run(const json& /*args*/, ToolContext& /*context*/) const override {
    const auto found = persistent_->verify_audit();
    if (!found) return ToolResult::failure(tool_error_from(found.error()));
    ordered_json defects = ordered_json::array();
    for (const AuditDefect& defect : found->defects) {
      defects.push_back(
          {{"line", defect.line}, {"reason", defect.reason}, {"message", defect.message}});
    }
    return ToolResult::success({{"intact", found->is_intact()},
                                {"records", found->records},
                                {"defects", std::move(defects)}});
  }

 private:
  const PersistentState* persistent_;
  ToolInfo info_;
};

/// Adds the tools `sec.grant`, `sec.revoke` and `sec.audit` of aiOS. Only people may call them. The
/// first two write to `.galley` directly, and a rollback does not revert them. So they have tier 3,
/// and need a confirmation in most modes.
/// Errors: as ToolRegistry::add.
Result<void> add_security_tools(ToolRegistry& registry, const Rules& rules,
                                PersistentState& persistent) {
  GALLEY_TRY(registry.add(std::make_unique<SecurityTool>(rules, persistent, false)));
  GALLEY_TRY(registry.add(std::make_unique<SecurityTool>(rules, persistent, true)));
  return registry.add(std::make_unique<AuditTool>(persistent));
}

/// Returns the lookup of `[tools.NAME] config` for tools of profiles.
ToolSetting setting_of(const Rules& rules) {
  return [rules = &rules](std::string_view tool, std::string_view key) {
    const auto table = rules->config.tools.find(std::string(tool));
    if (table == rules->config.tools.end()) return std::string();
    const auto value = table->second.config.find(std::string(key));
    return value == table->second.config.end() ? std::string() : value->second;
  };
}

}  // namespace

Toolbox::Toolbox(const Place& place, const Rules& rules, PersistentState& kept,
                 WorkspaceOptions& options)
    : place_(&place),
      rules_(&rules),
      kept_(&kept),
      mode_(options.reads_only ? ToolRegistry::Mode::kReadOnly : ToolRegistry::Mode::kAll),
      given_runner_(options.runner),
      given_tools_(std::move(options.tools)),
      dependencies_(std::move(options.dependencies)) {}

ValidatorCache* Toolbox::cache() {
  const std::lock_guard guard(mutex_);
  if (cache_ != nullptr || rules_->config.validators.empty()) return cache_.get();
  if (kept_->state() != nullptr) {
    const RelPath place = kept_->state()->own("cache");
    auto made = make_directories(kept_->state()->root(), place, kPrivateDirectory);
    auto opened = made ? kept_->state()->root().open_writable_directory(place)
                       : Result<std::unique_ptr<WritableDirectory>>(made.error());
    // Without a folder on disk validators only run more often.
    if (opened) cache_ = std::make_unique<DiskValidatorCache>(*std::move(opened));
  }
  if (cache_ == nullptr) cache_ = std::make_unique<MemoryValidatorCache>();
  return cache_.get();
}

CommandRunner* Toolbox::runner_for(const Principals& who) {
  if (given_runner_ != nullptr) return given_runner_;
  const std::lock_guard guard(mutex_);
  std::unique_ptr<CommandRunner>& runner = runners_[{who, kept_->state() != nullptr}];
  if (runner != nullptr) return runner.get();
  if (place_->tree != nullptr) {
    runner = place_->tree->make_runner(rules_->config, who, place_->clock(), {});
    return runner.get();
  }
  GuardedRunnerOptions runner_options;
  runner_options.workspace = place_->path;
  runner_options.who = who;
  // Without a folder on disk validators lose their caches when the process ends.
  if (kept_->state() != nullptr) {
    const auto made =
        make_directories(kept_->state()->root(), kept_->state()->own("keep"), kPrivateDirectory);
    if (made) runner_options.keep_home = kept_->own_path("keep");
  }
  runner = make_guarded_runner(rules_->config, std::move(runner_options), place_->clock());
  return runner.get();
}

Result<ToolRegistry*> Toolbox::registry() {
  const std::lock_guard guard(mutex_);
  if (registry_ == nullptr) {
    auto made = std::make_unique<ToolRegistry>();
    GALLEY_TRY(add_standard_tools(*made));
    GALLEY_TRY(add_dialect_tools(*made, setting_of(*rules_)));
    GALLEY_TRY(made->add(make_graph_query({place_->path, [this] { return kept_->state(); }})));
    // Each commit of a branch is one of git already.
    if (place_->branch() == nullptr) GALLEY_TRY(made->add(make_git_commit(place_->path)));
    made->set_dependencies(dependencies_);
    GALLEY_TRY(add_security_tools(*made, *rules_, *kept_));
    GALLEY_ASSIGN(left_out_, add_custom_tools(*made, rules_->user, place_->path));
    GALLEY_ASSIGN(const auto of_servers, add_mcp_servers(*made, rules_->user, place_->path));
    left_out_.insert(left_out_.end(), of_servers.begin(), of_servers.end());
    for (ToolDefinition& own : given_tools_) {
      GALLEY_TRY(add_own_tool(*rules_, *made, std::move(own)));
    }
    given_tools_.clear();
    registry_ = std::move(made);
    enable_tools();
  }
  return registry_.get();
}

std::vector<std::string> Toolbox::left_out() {
  const std::lock_guard guard(mutex_);
  return left_out_;
}

void Toolbox::enable_tools() {
  for (const std::string& name : std::exchange(disabled_, {})) registry_->set_enabled(name, true);
  for (const auto& [name, tool] : rules_->config.tools) {
    registry_->set_enabled(name, tool.is_enabled);
    if (!tool.is_enabled) disabled_.insert(name);
  }
}

void Toolbox::follow_rules() {
  const std::lock_guard guard(mutex_);
  runners_.clear();
  if (registry_ != nullptr) enable_tools();
}

Result<void> Toolbox::check_given() {
  if (!given_tools_.empty()) GALLEY_TRY(registry());
  return {};
}

CallSupervisor& Toolbox::supervisor() {
  const std::lock_guard guard(mutex_);
  if (supervisor_ == nullptr)
    supervisor_ = std::make_unique<CallSupervisor>(place_->clock(), rules_->config.tools);
  return *supervisor_;
}

/// Such a table may be meant for a tool that is added later, or be a typing error.
Result<std::vector<std::string>> Toolbox::unknown_tools() {
  std::vector<std::string> unknown;
  if (rules_->config.tools.empty()) return unknown;
  GALLEY_ASSIGN(const ToolRegistry* tools, registry());
  std::vector<std::string> names;
  for (const ToolRegistry::Status& status : tools->statuses()) names.push_back(status.info.name);
  for (const auto& [name, tool] : rules_->config.tools) {
    if (tools->has(name)) continue;
    unknown.push_back(rules_->config.file + ":" + std::to_string(tool.line) + ": [tools." + name +
                      "] names a tool that does not exist now" + did_you_mean(name, names));
  }
  return unknown;
}

}  // namespace galley
