#include "engine/pipeline/security_tools.h"

#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/pipeline/grant_store.h"

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

}  // namespace

Result<void> add_security_tools(ToolRegistry& registry, const Rules& rules,
                                PersistentState& persistent) {
  GALLEY_TRY(registry.add(std::make_unique<SecurityTool>(rules, persistent, false)));
  GALLEY_TRY(registry.add(std::make_unique<SecurityTool>(rules, persistent, true)));
  return registry.add(std::make_unique<AuditTool>(persistent));
}

}  // namespace galley
