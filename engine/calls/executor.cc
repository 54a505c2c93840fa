#include "engine/calls/executor.h"

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/calls/grants.h"
#include "engine/calls/sanitizer.h"
#include "engine/calls/secrets.h"
#include "tools/json_input.h"
#include "tools/output_sanitizer.h"
#include "tools/redactor.h"

namespace galley {

namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr size_t kMaxCalls = 100'000;                    // in one document of calls
constexpr std::chrono::milliseconds kToolTime{600'000};  // unless the caller says how long

ToolError validation_error(std::string reason, const std::string& what,
                           const std::vector<SchemaViolation>& violations) {
  ordered_json details;
  for (const SchemaViolation& violation : violations) {
    details["violations"].push_back(
        {{"pointer", violation.pointer}, {"message", violation.message}});
  }
  return ToolError{ToolErrorCode::kValidation, std::move(reason),
                   what + ": " + describe(violations),
                   std::make_shared<const ordered_json>(std::move(details))};
}

std::string risk_of(const ToolAnnotations& annotations) {
  if (annotations.read_only) return "low";
  return annotations.destructive || annotations.open_world ? "high" : "medium";
}

/// Passes a tool's log on with secrets taken out, wherever the pieces are cut.
class LogFilter {
 public:
  LogFilter(const std::function<void(const ToolLog&)>& sink, const Redactor& redactor)
      : sink_(sink),
        streams_{StreamRedactor(redactor), StreamRedactor(redactor), StreamRedactor(redactor)} {}

  void take(const ToolLog& log) {
    const auto i = static_cast<size_t>(log.stream);
    pass(log.stream, patterns_.at(i).feed(streams_.at(i).feed(log.text)));
    // A note is whole.
    if (log.stream == ToolLog::Stream::kNote) pass(log.stream, patterns_.at(i).finish());
  }
  void finish() {
    for (size_t i = 0; i < streams_.size(); ++i) {
      const std::string rest = patterns_.at(i).feed(streams_.at(i).finish());
      pass(static_cast<ToolLog::Stream>(i), rest + patterns_.at(i).finish());
    }
  }

 private:
  void pass(ToolLog::Stream stream, const std::string& text) {
    if (sink_ && !text.empty()) sink_({stream, text});
  }
  const std::function<void(const ToolLog&)>& sink_;
  std::array<StreamRedactor, 3> streams_;
  std::array<PatternStream, 3> patterns_;
};

ToolError cancelled() {
  return {ToolErrorCode::kTimeout, "call.cancelled", "the call was cancelled; nothing was staged",
          nullptr};
}

/// A tool promises not to throw; one that does anyway must not take the program with it.
ToolResult run_guarded(const Tool& tool, const json& args, ToolContext& context) {
  try {
    return tool.run(args, context);
  } catch (const std::exception& error) {
    return ToolResult::failure({ToolErrorCode::kRuntime, "tool.threw",
                                "the tool '" + tool.info().name + "' failed: " + error.what(),
                                nullptr});
  }
}

std::string string_field(const json& call, const char* key) {
  const auto field = call.find(key);
  return field != call.end() && field->is_string() ? field->get<std::string>() : std::string();
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
    call.tool = string_field(item, "tool");
    call.call_id = string_field(item, "call_id");
    call.reason = string_field(item, "reason");
    if (item.contains("args")) call.args = std::make_shared<const json>(std::move(item["args"]));
    calls.push_back(std::move(call));
  }
  return calls;
}

Executor::Executor(const ToolRegistry* registry, Recorder& recorder, const Clock& clock,
                   ExecutorOptions options)
    : registry_(registry), recorder_(&recorder), clock_(&clock), options_(std::move(options)) {}

// --- the road -------------------------------------------------------------------------------

std::optional<Error> Executor::refusal(const Action& action) const {
  const auto grants = Grants::parse(options_.capabilities);
  if (!grants) return grants.error();
  if (auto missing = grants->refusal(action)) return missing;
  return options_.early_policy ? options_.early_policy(action) : std::nullopt;
}

Executor::Passed Executor::pass(Overlay* overlay, const Overlay::Entries* before, Action action,
                                const std::function<ToolResult(AuditEvent&)>& effect) {
  const int64_t started_ns = clock_->wall_ns();
  const auto started = clock_->steady();
  Passed passed;
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
    if (result.ok && before != nullptr && options_.late_policy) {
      passed.error = options_.late_policy(action, *before, overlay->entries());
    }
    const bool is_said_by_tool = action.called != nullptr || !options_.agent.empty();
    if (result.ok && before != nullptr && !passed.error && is_said_by_tool) {
      passed.error = refusal_of_markers(action, *overlay, *before);
    }
  }
  if (passed.error) result = ToolResult::failure(tool_error_from(*passed.error));
  const bool is_kept = result.ok && !action.is_trial;
  if (!is_kept && before != nullptr) overlay->restore(*before);
  result.meta.started_at = rfc3339_utc(started_ns);
  result.meta.ended_at = rfc3339_utc(clock_->wall_ns());
  result.meta.duration_ms =
      std::chrono::duration_cast<std::chrono::milliseconds>(clock_->steady() - started).count();
  result.meta.dry_run = options_.dry_run;
  const bool is_quiet = action.is_trial || action.records_itself;
  if (is_quiet && !passed.error) return passed;
  if (auto recorded = record(std::move(action), result); !recorded) {
    if (before != nullptr) overlay->restore(*before);
    const ToolMeta meta = result.meta;
    passed = unrecorded(recorded.error());
    passed.result.meta = meta;
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
  if (recorder_->is_silent() || action.is_trial) return {};
  sign(action.record);
  if (action.record.execution_id.empty()) action.record.execution_id = new_execution_id();
  AuditEvent begun = action.record;
  begun.kind = AuditKind::kBegun;
  begun.execution_id += kBegunSuffix;
  return recorder_->record(std::move(begun));
}

/// Who does it, and for what.
void Executor::sign(AuditEvent& event) const {
  if (event.execution_id.empty() && options_.make_execution_id) {
    event.execution_id = options_.make_execution_id();
  }
  event.agent = options_.agent;
  event.owner = options_.owner;
  event.task_id = options_.task_id;
  event.goal_id = options_.goal_id;
  if (event.call_id.empty()) event.call_id = options_.call_id;
  if (event.reason.empty()) event.reason = options_.reason;
}

/// What came of it.
Result<void> Executor::record(Action action, const ToolResult& result) {
  if (recorder_->is_silent()) return {};
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
  if (overlay != nullptr && (!is_safe || options_.late_policy)) before = overlay->entries();
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
  for (const ToolCall& call : calls) {
    staged.results.push_back(call_once(overlay, before, call));
    if (!staged.results.back().ok) break;
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

/// `before` is what the overlay held before the first of several calls.
ToolResult Executor::call_once(Overlay& overlay, const Overlay::Entries& before,
                               const ToolCall& call) {
  static const json kNoArgs = json::object();
  const json& args = call.args ? *call.args : kNoArgs;
  Action action;
  action.record.kind = options_.dry_run ? AuditKind::kCallDryRun : AuditKind::kCall;
  action.record.tool = call.tool;
  action.record.call_id = call.call_id;
  action.record.reason = call.reason;
  if (call.args && !recorder_->is_silent()) {
    action.record.input = std::make_shared<const ordered_json>(*call.args);
  }
  const auto entry = registry_->get(call.tool);
  if (entry) {
    describe_call(**entry, args, action);
  } else {
    action.record.error = tool_error_from(entry.error());
  }
  CallSecrets secrets(options_.secrets, options_.known_secrets);
  secrets.redact(action.record);
  const bool takes_secrets = arguments_take_secrets(action, options_.secrets_in_files);
  const auto parsed = action.intent.parsed;
  return pass(&overlay, &before, std::move(action),
              [&](AuditEvent& record) {
                if (record.error) return ToolResult::failure(*record.error);
                std::shared_ptr<const json> with_values;
                if (takes_secrets) {
                  auto injected = secrets.injected(args);
                  if (!injected) return ToolResult::failure(tool_error_from(injected.error()));
                  with_values = *std::move(injected);
                }
                ToolResult result = with_values != nullptr
                                        ? run_tool(**entry, *with_values, nullptr, overlay, secrets)
                                        : run_tool(**entry, args, parsed, overlay, secrets);
                if (result.ok && !options_.secrets_in_files) {
                  const auto leak = secrets.refusal_of_effect(overlay, before);
                  if (leak) result = ToolResult::failure(tool_error_from(*leak));
                }
                secrets.redact(record);
                return secrets.redacted(std::move(result));
              })
      .result;
}

/// What a call needs and will touch; with an error when its arguments are not what the tool takes.
void Executor::describe_call(const ToolRegistry::Entry& entry, const json& args,
                             Action& action) const {
  const ToolInfo& info = entry.tool->info();
  action.record.risk_level = risk_of(info.annotations);
  action.record.capabilities_used = info.capabilities;
  action.tools = {info.name};
  action.capabilities = info.capabilities;
  action.called = &info;
  action.arguments = &args;
  action.only_looks = info.annotations.read_only;
  if (const auto violations = entry.input.check(args); !violations.empty()) {
    action.record.error =
        validation_error("args.schema", "the arguments of '" + info.name + "'", violations);
    return;
  }
  auto intent = entry.tool->intent(args, options_.root);
  if (intent) {
    action.intent = *std::move(intent);
    action.runs_program = action.intent.is_open_ended;
    action.record.error = input_refusal(args);
  } else {
    action.record.error = tool_error_from(intent.error());
  }
}

ToolResult Executor::run_tool(const ToolRegistry::Entry& entry, const json& args,
                              const std::shared_ptr<const ParsedArguments>& parsed,
                              Overlay& overlay, CallSecrets& secrets) {
  if (options_.stop.stop_requested()) return ToolResult::failure(cancelled());
  const ToolInfo& info = entry.tool->info();
  const std::chrono::milliseconds timeout = options_.timeout.value_or(kToolTime);
  LogFilter log(options_.logger, secrets.redactor());
  ToolContext context{.overlay = overlay,
                      .clock = *clock_,
                      .root = options_.root,
                      .agent = options_.agent,
                      .capabilities = options_.capabilities,
                      .dry_run = options_.dry_run,
                      .deterministic = options_.deterministic,
                      .deadline = Deadline::after(*clock_, timeout),
                      .commands = options_.commands,
                      .logger = [&log](const ToolLog& line) { log.take(line); },
                      .secrets = secrets.provider(),
                      .may_read = options_.may_read,
                      .judge = [&](const Intent& access) -> Result<void> {
                        Action now;
                        now.tools = {info.name};
                        now.capabilities = info.capabilities;
                        now.only_looks = access.writes.empty();
                        now.intent = access;
                        const auto no = refusal(now);
                        return no ? Result<void>(*no) : Result<void>();
                      },
                      .last_step = options_.last_step,
                      .earlier = options_.earlier,
                      .stop = options_.stop,
                      .parsed = parsed};
  ToolResult result = run_guarded(*entry.tool, args, context);
  log.finish();
  if (!result.ok) return result;
  if (options_.stop.stop_requested()) return ToolResult::failure(cancelled());
  if (context.deadline.has_passed(*clock_)) {
    return ToolResult::failure({ToolErrorCode::kTimeout, "tool.timeout",
                                "the tool '" + info.name + "' took longer than the " +
                                    std::to_string(timeout.count()) +
                                    " ms it has; nothing was staged",
                                nullptr});
  }
  if (const TextSanitizer clean = entry.tool->sanitizer()) {
    auto cleaned = sanitized_answer(*result.data, clean);
    if (!cleaned) return ToolResult::failure(tool_error_from(cleaned.error()));
    result.data = std::make_shared<const ordered_json>(*std::move(cleaned));
  }
  if (const auto violations = entry.output.check(*result.data); !violations.empty()) {
    ToolError error = validation_error("tool.output",
                                       "the tool '" + info.name + "' answered wrongly", violations);
    error.code = ToolErrorCode::kRuntime;
    return ToolResult::failure(std::move(error));
  }
  return result;
}

}  // namespace galley
