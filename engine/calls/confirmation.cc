#include "engine/calls/confirmation.h"

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/policy/security_mode.h"
#include "tools/json_input.h"
#include "tools/redactor.h"

namespace galley {
namespace {

constexpr size_t kShownIdDigits = 16;

unsigned tier_of(const ToolInfo& tool) { return static_cast<unsigned>(tool.security_tier); }

Error refused_call(std::string reason, std::string message) {
  return {ErrorKind::kRefused, std::move(reason), std::move(message), "", 0};
}

std::string mode_name(SecurityMode mode) { return std::string(mode_row(mode).name); }

CallQuestion question_of(const Action& action, const ConfirmationContext& context,
                         const ContentId& id, const CallRule& rule) {
  CallQuestion question;
  question.id = shown_call_id(id);
  question.agent = context.who.caller();
  question.tool = action.called->name;
  question.arguments = redact_patterns(json_text(*action.arguments));
  question.why = rule.why;
  return question;
}

std::optional<Error> record_yes(const Action& action, const ConfirmationContext& context,
                                const ContentId& id, const std::string& by) {
  if (context.recorder == nullptr) return {};
  AuditEvent event;
  event.kind = AuditKind::kConfirmation;
  event.tool = action.called->name;
  event.agent = context.who.caller();
  event.call_id = action.record.call_id;
  event.reason = "said yes: " + by;
  event.input =
      std::make_shared<const nlohmann::ordered_json>(nlohmann::ordered_json{{"call", id.hex()}});
  const auto recorded = context.recorder->record(std::move(event));
  return recorded ? std::nullopt : std::optional<Error>(recorded.error());
}

/// Whether a person can approve the call later.
Result<bool> is_kept(const ContentId& id, const ConfirmationContext& context,
                     const CallQuestion& question) {
  if (context.answers == nullptr || question.arguments.size() > kMaxAskedArgumentBytes)
    return false;
  GALLEY_TRY(context.answers->keep(id, question, context.clock->wall_ns()));
  return true;
}

std::optional<Error> needs_confirmation(const ContentId& id, const ConfirmationContext& context,
                                        const CallQuestion& question) {
  const auto kept = is_kept(id, context, question);
  if (!kept) return kept.error();
  const std::string way =
      *kept ? "ask a person to run: galley approve " + question.id + ", then repeat this call"
            : "no person can be asked here, and the call is not stored: use a stored transaction "
              "(galley begin), or CallOptions::confirm of the library";
  return refused_call("call.needs_confirmation",
                      "the call " + question.id + " of the tool '" + question.tool +
                          "' needs a person's approval: " + question.why + ". To go on: " + way);
}

/// Agents that run unattended answer no to every question. If the call can be stored, a person
/// can still approve it later.
std::optional<Error> not_confirmed(const ContentId& id, const ConfirmationContext& context,
                                   const CallQuestion& question) {
  const auto kept = is_kept(id, context, question);
  if (!kept) return kept.error();
  std::string message = "the call " + question.id + " of the tool '" + question.tool +
                        "' was not run, because the answer was no";
  if (*kept) {
    message +=
        ". A person can still run: galley approve " + question.id + "; then repeat this call";
  }
  return refused_call("call.not_confirmed", std::move(message));
}

}  // namespace

CallRule rule_for_call(SecurityMode mode, const ToolInfo& tool) {
  constexpr std::array<const char*, 4> kRisks = {"low", "medium", "high", "critical"};
  const std::string name = "the tool '" + tool.name + "'";
  CallRule rule;
  rule.decision = decision_of(mode, tier_of(tool));
  if (rule.decision != Decision::kAllow) {
    rule.why = name + " is of tier " + std::to_string(tier_of(tool)) + ", which the mode `" +
               mode_name(mode) + (rule.decision == Decision::kDeny ? "` refuses" : "` asks about");
    return rule;
  }
  if (tool.requires_confirmation) {
    return {Decision::kAsk, false, name + " wants each call confirmed"};
  }
  if (tool.risk_level < ToolInfo::Risk::kHigh) return rule;
  rule.decision = Decision::kAsk;
  rule.why = name + " is of " + kRisks.at(static_cast<size_t>(tool.risk_level)) + " risk";
  rule.is_held_by_overlay = tool.risk_level == ToolInfo::Risk::kHigh && tool.is_reversible;
  return rule;
}

ContentId id_of_call(const Action& action, const ConfirmationContext& context) {
  nlohmann::json document = {
      {"who", context.who.names()},        {"tool", action.called->name},
      {"version", action.called->version}, {"arguments", *action.arguments},
      {"cwd", context.call->cwd},          {"environment", context.call->environment}};
  return ContentId::of(json_text(document));
}

std::string shown_call_id(const ContentId& id) {
  return std::string(kCallIdStart) + id.hex().substr(0, kShownIdDigits);
}

std::optional<Error> confirm_call(const Action& action, const ConfirmationContext& context) {
  if (action.called == nullptr || action.arguments == nullptr) return {};
  const CallRule rule = rule_for_call(context.mode, *action.called);
  if (rule.decision == Decision::kAllow) return {};
  if (rule.decision == Decision::kDeny) {
    return refused_call(
        "call.tier_denied",
        rule.why + "; use another tool, or ask a person to change policy.mode in galley.toml");
  }
  const bool is_in_overlay = action.called->security_tier <= ToolInfo::Tier::kElevated;
  if (context.keeps_nothing && is_in_overlay) return {};
  const bool is_person = context.who.is_alone() && context.who.caller().empty();
  if (rule.is_held_by_overlay && (!context.call->confirm || is_person)) return {};
  const ContentId id = id_of_call(action, context);
  if (context.answers != nullptr) {
    const auto given = context.answers->take(id, context.clock->wall_ns());
    if (!given) return given.error();
    if (*given) return record_yes(action, context, id, **given);
  }
  const CallQuestion question = question_of(action, context, id, rule);
  if (!context.call->confirm) return needs_confirmation(id, context, question);
  const auto answer = context.call->confirm(question);
  if (!answer) return answer.error();
  if (*answer) return record_yes(action, context, id, "the person who was asked");
  return not_confirmed(id, context, question);
}

}  // namespace galley
