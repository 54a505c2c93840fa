#include "engine/calls/executor.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/calls/confirmation.h"
#include "engine/calls/secrets.h"
#include "tools/json_input.h"

namespace galley {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr size_t kMaxCalls = 100'000;  // in one document of calls

/// What the caller said of a call and no field of a record has; null where that is nothing.
JsonDocument context_of(const CallOptions& options) {
  ordered_json context;
  if (!options.cwd.empty()) context["cwd"] = options.cwd;
  for (const auto& [name, value] : options.environment) context["environment"][name] = value;
  if (options.deterministic) context["deterministic"] = true;
  if (options.timeout) context["timeout_ms"] = options.timeout->count();
  if (options.only_capabilities) context["only_capabilities"] = *options.only_capabilities;
  if (options.only_programs) context["only_programs"] = *options.only_programs;
  if (context.is_null()) return nullptr;
  return std::make_shared<const ordered_json>(std::move(context));
}

/// A directory is told by the slash at the end.
std::vector<std::string> names_of(const ChangeSet& changes) {
  std::vector<std::string> names;
  for (const Change& change : changes) {
    const FileKind kind = change.is_delete() ? change.before.kind : change.after.kind;
    names.push_back(change.path.str() + (kind == FileKind::kDirectory ? "/" : ""));
  }
  return names;
}

tl::unexpected<Error> malformed_calls(const std::string& why) {
  return fail(ErrorKind::kInvalid, "calls.malformed",
              "the document of calls is malformed: " + why +
                  R"(; wanted [{"tool": "Write", "args": {…}}, …])");
}

}  // namespace

Result<ToolCall> ToolCall::parse(std::string tool, std::string_view args_text) {
  GALLEY_ASSIGN(json args, parse_json(args_text));
  ToolCall call;
  call.tool = std::move(tool);
  call.args = std::make_shared<const json>(std::move(args));
  return call;
}

Result<std::vector<ToolCall>> parse_calls(std::string_view text) {
  GALLEY_ASSIGN(json document, parse_json(text));
  static const auto schema = JsonSchema::compile(R"({"type":"array","items":{"type":"object",
    "required":["tool"],"additionalProperties":false,"properties":{"tool":{"type":"string"},
    "args":{"type":"object"},"call_id":{"type":"string"},"reason":{"type":"string"}}}})");
  if (const auto violations = schema->check(document); !violations.empty()) {
    return malformed_calls(describe(violations));
  }
  if (document.size() > kMaxCalls) {
    return fail(ErrorKind::kQuota, "limit.calls",
                "the document has " + std::to_string(document.size()) + " calls, more than " +
                    std::to_string(kMaxCalls));
  }
  std::vector<ToolCall> calls;
  for (json& item : document) {
    ToolCall call;
    call.tool = text_member(item, "tool");
    call.call_id = text_member(item, "call_id");
    call.reason = text_member(item, "reason");
    if (item.contains("args")) call.args = std::make_shared<const json>(std::move(item["args"]));
    calls.push_back(std::move(call));
  }
  return calls;
}

Executor::Executor(const ToolRegistry* registry, Recorder& recorder, const Clock& clock,
                   ExecutorOptions options)
    : registry_(registry),
      recorder_(&recorder),
      clock_(&clock),
      options_(std::move(options)),
      scope_(CallScope::of(options_, options_.capabilities, options_.root)) {}

// --- the road -------------------------------------------------------------------------------

std::optional<Error> Executor::refusal(const Action& action) const {
  if (!scope_) return scope_.error();
  if (auto missing = scope_->refusal(action)) return missing;
  return options_.early_policy ? options_.early_policy(action) : std::nullopt;
}

std::optional<Error> Executor::refusal_of_effect(const Action& action,
                                                 const Overlay::Entries& before,
                                                 const Overlay::Entries& now) const {
  if (auto missing = scope_->refusal_of_effect(action, before, now)) return missing;
  return options_.late_policy ? options_.late_policy(action, before, now) : std::nullopt;
}

/// When a call ran that ends now.
void Executor::measure(const Clock& clock, int64_t started_ns,
                       std::chrono::steady_clock::time_point started, ToolMeta& meta) {
  meta.started_at = rfc3339_utc(started_ns);
  meta.ended_at = rfc3339_utc(clock.wall_ns());
  meta.duration_ms =
      std::chrono::duration_cast<std::chrono::milliseconds>(clock.steady() - started).count();
}

Executor::Passed Executor::pass(Overlay* overlay, const Overlay::Entries* before, Action action,
                                const std::function<ToolResult(AuditEvent&)>& effect) {
  const int64_t started_ns = clock_->wall_ns();
  const auto started = clock_->steady();
  Passed passed;
  if (!recorder_->is_silent(action.record.kind)) name_execution(action.record);
  StepScope scope(overlay);
  if (!action.record.error) passed.error = refusal(action);
  if (!action.record.error && !passed.error && options_.confirmation) {
    passed.error = options_.confirmation(action);
  }
  const bool is_refused = passed.error.has_value();
  ToolResult& result = passed.result;
  if (!is_refused && action.runs_program && !action.record.error) {
    if (const auto begun = record_begin(action); !begun) return unrecorded(begun.error());
  }
  if (!is_refused) {
    result = effect(action.record);
    if (result.ok && before != nullptr) {
      passed.error = refusal_of_effect(action, *before, overlay->entries());
    }
    const bool is_said_by_tool = action.called != nullptr || !options_.agent.empty();
    if (result.ok && before != nullptr && !passed.error && is_said_by_tool) {
      passed.error = refusal_of_markers(action, *overlay, *before);
    }
  }
  if (passed.error) result = ToolResult::failure(tool_error_from(*passed.error));
  const bool is_kept = result.ok && !action.is_trial;
  if (!is_kept && before != nullptr) overlay->restore(*before);
  if (result.meta.started_at.empty()) measure(*clock_, started_ns, started, result.meta);
  result.meta.dry_run = options_.dry_run;
  result.meta.execution_id = action.record.execution_id;
  StagedStep step{action.record.execution_id, action.record.tool, scope.finish()};
  // What a tool's own calls change goes back with the tool's.
  const bool is_step = is_kept && !options_.dry_run && action.record.parent_execution_id.empty();
  if (is_step && overlay != nullptr) action.record.changed = names_of(step.changes);
  if (passed.error && passed.error->reason == kUnanswered) return passed;
  const bool is_quiet = action.is_trial || action.records_itself;
  if (is_quiet && !passed.error) return passed;
  if (auto recorded = record(std::move(action), result); !recorded) {
    if (before != nullptr) overlay->restore(*before);
    const ToolMeta meta = result.meta;
    passed = unrecorded(recorded.error());
    passed.result.meta = meta;
  } else if (is_step && options_.on_step && !step.changes.empty()) {
    options_.on_step(std::move(step));
  }
  return passed;
}

Executor::Passed Executor::unrecorded(const Error& why) {
  ToolError error = tool_error_from(why);
  error.message = "it could not be put on record, so it was not done: " + error.message;
  return {ToolResult::failure(std::move(error)), why};
}

/// A program may outlive whoever started it, so it is on record before it starts.
Result<void> Executor::record_begin(Action& action) {
  if (recorder_->is_silent(action.record.kind) || action.is_trial) return {};
  sign(action.record);
  AuditEvent begun = action.record;
  begun.kind = AuditKind::kBegun;
  begun.execution_id += kBegunSuffix;
  return recorder_->record(std::move(begun));
}

void Executor::name_execution(AuditEvent& event) const {
  if (!event.execution_id.empty()) return;
  event.execution_id =
      options_.make_execution_id ? options_.make_execution_id() : new_execution_id(*clock_);
}

/// Who does it, and for what.
void Executor::sign(AuditEvent& event) const {
  name_execution(event);
  event.agent = options_.agent;
  event.owner = options_.owner;
  event.task_id = options_.task_id;
  event.goal_id = options_.goal_id;
  event.session_id = options_.session_id;
  if (event.context == nullptr) event.context = context_of(options_);
  if (event.call_id.empty()) event.call_id = options_.call_id;
  if (event.reason.empty()) event.reason = options_.reason;
}

/// What came of it.
Result<void> Executor::record(Action action, const ToolResult& result) {
  if (recorder_->is_silent(action.record.kind)) return {};
  AuditEvent& event = action.record;
  sign(event);
  if (result.data) event.output = result.data;
  if (result.error) event.error = result.error;
  event.duration_ms = result.meta.duration_ms;
  return recorder_->record(std::move(event));
}

Result<void> Executor::perform(Overlay* overlay, Action action, const Effect& effect) {
  // One that leaves the overlay as it was needs no copy of it, unless it can be refused later.
  const bool is_safe =
      action.is_atomic && !action.is_trial && (recorder_->holds() || action.records_itself);
  std::optional<Overlay::Entries> before;
  const bool is_judged = options_.late_policy || (scope_ && scope_->judges_effects());
  if (overlay != nullptr && (!is_safe || is_judged)) before = overlay->entries();
  std::optional<Error> failure;
  const Passed passed =
      pass(overlay, before ? &*before : nullptr, std::move(action), [&](AuditEvent& record) {
        ToolResult result;
        const auto done = effect(record);
        result.ok = done.has_value();
        if (result.ok) return result;
        failure = done.error();
        return ToolResult::failure(tool_error_from(*failure));
      });
  if (passed.result.ok) return {};
  return passed.error ? *passed.error : *failure;
}

// --- tool calls -----------------------------------------------------------------------------

ToolResult Executor::call(Overlay& overlay, const ToolCall& call) {
  const Overlay::Entries before = overlay.entries();
  ToolResult result = call_once(overlay, before, call);
  if (options_.dry_run) overlay.restore(before);
  return result;
}

Executor::StagedCalls Executor::stage_calls(Overlay& overlay, const std::vector<ToolCall>& calls) {
  const Overlay::Entries before = overlay.entries();
  StagedCalls staged;
  for (size_t at = 0; at < calls.size();) {
    const size_t read = stage_reads(overlay, calls, at, staged.results);
    if (read == 0) staged.results.push_back(call_once(overlay, before, calls[at]));
    if (!staged.results.back().ok) break;
    at += std::max<size_t>(read, 1);
  }
  if (staged.ok() && !options_.dry_run) return staged;
  overlay.restore(before);
  if (staged.ok() || staged.results.size() <= 1) return staged;
  Action dropped;
  dropped.record.kind = AuditKind::kCallsDropped;
  dropped.record.reason = "call " + std::to_string(staged.results.size()) + " of " +
                          std::to_string(calls.size()) + " failed: those before it were taken back";
  const auto recorded = record(std::move(dropped), ToolResult());
  if (!recorded) staged.results.back().error = tool_error_from(recorded.error());
  return staged;
}

}  // namespace galley
