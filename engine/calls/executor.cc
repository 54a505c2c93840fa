#include "engine/calls/executor.h"

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/hex.h"
#include "engine/calls/grants.h"
#include "tools/json_input.h"
#include "tools/redactor.h"

namespace galley {

/// Hands secrets to a tool and remembers each, so that what the tool says can be redacted.
class SecretWatch {
 public:
  explicit SecretWatch(const SecretProvider& provider) : provider_(&provider) {}

  [[nodiscard]] SecretProvider provider() {
    if (!*provider_) return {};
    return [this](const std::string& key) {
      std::optional<std::string> value = (*provider_)(key);
      if (value) redactor_.add("env." + key, *value);
      return value;
    };
  }
  [[nodiscard]] const Redactor& redactor() const { return redactor_; }

 private:
  const SecretProvider* provider_;
  Redactor redactor_;
};

namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr size_t kMaxCalls = 100'000;  // in one document of calls

std::string random_execution_id() {
  constexpr size_t kDigits = 24;
  return "exec-" + random_hex(kDigits);
}

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
    pass(log.stream, streams_[static_cast<size_t>(log.stream)].feed(log.text));
  }
  void finish() {
    for (size_t i = 0; i < streams_.size(); ++i) {
      pass(static_cast<ToolLog::Stream>(i), streams_[i].finish());
    }
  }

 private:
  void pass(ToolLog::Stream stream, const std::string& text) {
    if (sink_ && !text.empty()) sink_({stream, text});
  }
  const std::function<void(const ToolLog&)>& sink_;
  std::array<StreamRedactor, 3> streams_;
};

ToolResult redacted(ToolResult result, const Redactor& redactor) {
  if (redactor.is_empty()) return result;
  if (result.data) {
    result.data = std::make_shared<const ordered_json>(redactor.redact_document(*result.data));
  }
  if (result.error) {
    result.error->message = redactor.redact(result.error->message);
    if (result.error->details) {
      result.error->details =
          std::make_shared<const ordered_json>(redactor.redact_document(*result.error->details));
    }
  }
  return result;
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

Executor::Executor(const ToolRegistry& registry, AuditLog* audit, const Clock& clock,
                   ExecutorOptions options)
    : registry_(&registry), audit_(audit), clock_(&clock), options_(std::move(options)) {}

ToolResult Executor::call(Overlay& overlay, const ToolCall& call) {
  const Overlay::Entries before = overlay.entries();
  ToolResult result = call_once(overlay, call);
  if (!result.ok || options_.dry_run) overlay.restore(before);
  return result;
}

Executor::StagedCalls Executor::stage_calls(Overlay& overlay, const std::vector<ToolCall>& calls) {
  const Overlay::Entries before = overlay.entries();
  StagedCalls staged;
  for (const ToolCall& call : calls) {
    staged.results.push_back(call_once(overlay, call));
    if (!staged.results.back().ok) break;
  }
  if (staged.ok() && !options_.dry_run) return staged;
  overlay.restore(before);
  if (!staged.ok() && staged.results.size() > 1 && audit_ != nullptr) {
    AuditEvent event;
    event.kind = "calls.dropped";
    event.agent = options_.agent;
    event.owner = options_.owner;
    event.tx = calls.front().tx;
    event.reason = "call " + std::to_string(staged.results.size()) + " of " +
                   std::to_string(calls.size()) + " failed: those before it were taken back";
    event.execution_id = new_execution_id();
    const auto appended = audit_->append(event);
    if (!appended) staged.results.back().error = tool_error_from(appended.error());
  }
  return staged;
}

std::string Executor::new_execution_id() const {
  return options_.make_execution_id ? options_.make_execution_id() : random_execution_id();
}

ToolResult Executor::call_once(Overlay& overlay, const ToolCall& call) {
  const int64_t started_ns = clock_->wall_ns();
  const auto started = clock_->steady();
  static const json kNoArgs = json::object();
  const json& args = call.args ? *call.args : kNoArgs;

  SecretWatch secrets(options_.secrets);
  ToolResult result;
  const auto entry = registry_->get(call.tool);
  if (entry) {
    result = perform(**entry, args, overlay, secrets);
  } else {
    ToolError error = tool_error_from(entry.error());
    result = ToolResult::failure(std::move(error));
  }
  result = redacted(std::move(result), secrets.redactor());
  result.meta.started_at = rfc3339_utc(started_ns);
  result.meta.ended_at = rfc3339_utc(clock_->wall_ns());
  result.meta.duration_ms =
      std::chrono::duration_cast<std::chrono::milliseconds>(clock_->steady() - started).count();
  result.meta.dry_run = options_.dry_run;
  return recorded(std::move(result), call, entry ? &(*entry)->tool->info() : nullptr);
}

std::optional<ToolError> Executor::refusal_of(const Grants& grants, const ToolInfo& info,
                                              const Intent& intent) const {
  if (auto refusal = grants.refusal(info, intent)) return refusal;
  if (!options_.early_policy) return {};
  return options_.early_policy(info, intent);
}

ToolResult Executor::perform(const ToolRegistry::Entry& entry, const json& args, Overlay& overlay,
                             SecretWatch& secrets) {
  const ToolInfo& info = entry.tool->info();
  if (const auto violations = entry.input.check(args); !violations.empty()) {
    return ToolResult::failure(
        validation_error("args.schema", "the arguments of '" + info.name + "'", violations));
  }
  const auto grants = Grants::parse(options_.capabilities);
  if (!grants) return ToolResult::failure(tool_error_from(grants.error()));
  const auto intent = entry.tool->intent(args, options_.root);
  if (!intent) return ToolResult::failure(tool_error_from(intent.error()));
  if (auto refusal = refusal_of(*grants, info, *intent)) {
    return ToolResult::failure(std::move(*refusal));
  }
  LogFilter log(options_.logger, secrets.redactor());
  ToolContext context{.overlay = overlay,
                      .clock = *clock_,
                      .root = options_.root,
                      .agent = options_.agent,
                      .capabilities = options_.capabilities,
                      .dry_run = options_.dry_run,
                      .deterministic = options_.deterministic,
                      .deadline = Deadline::after(*clock_, options_.timeout),
                      .commands = options_.commands,
                      .logger = [&log](const ToolLog& line) { log.take(line); },
                      .secrets = secrets.provider(),
                      .may_read = options_.may_read,
                      .judge = [&](const Intent& access) -> Result<void> {
                        ToolInfo now = info;  // what is only looked at need not be readable below
                        now.annotations.read_only = access.writes.empty();
                        const auto refusal = refusal_of(*grants, now, access);
                        if (!refusal) return {};
                        return fail(ErrorKind::kRefused, refusal->reason, refusal->message);
                      },
                      .last_step = options_.last_step,
                      .earlier = options_.earlier};
  ToolResult result = run_guarded(*entry.tool, args, context);
  log.finish();
  if (result.ok && context.deadline.has_passed(*clock_)) {
    return ToolResult::failure({ToolErrorCode::kTimeout, "tool.timeout",
                                "the tool '" + info.name + "' took longer than the " +
                                    std::to_string(options_.timeout.count()) +
                                    " ms it has; nothing was staged",
                                nullptr});
  }
  if (!result.ok) return result;
  if (const auto violations = entry.output.check(*result.data); !violations.empty()) {
    ToolError error = validation_error("tool.output",
                                       "the tool '" + info.name + "' answered wrongly", violations);
    error.code = ToolErrorCode::kRuntime;
    return ToolResult::failure(std::move(error));
  }
  return result;
}

ToolResult Executor::recorded(ToolResult result, const ToolCall& call, const ToolInfo* info) {
  if (audit_ == nullptr) return result;
  AuditEvent event;
  event.kind = options_.dry_run ? "call.dry_run" : "call";
  event.execution_id = new_execution_id();
  event.call_id = call.call_id;
  event.tool = call.tool;
  event.agent = options_.agent;
  event.owner = options_.owner;
  event.task_id = call.task_id;
  event.goal_id = call.goal_id;
  event.reason = call.reason;
  event.tx = call.tx;
  if (call.args) event.input = std::make_shared<const ordered_json>(*call.args);
  event.output = result.data;
  event.error = result.error;
  event.duration_ms = result.meta.duration_ms;
  if (info != nullptr) {
    event.risk_level = risk_of(info->annotations);
    event.capabilities_used = info->capabilities;
  }
  const auto appended = audit_->append(event);
  if (appended) return result;
  ToolResult failed = ToolResult::failure(tool_error_from(appended.error()));
  failed.error->message =
      "the call could not be put on record, so it was not done: " + appended.error().message;
  failed.meta = result.meta;
  return failed;
}

}  // namespace galley
