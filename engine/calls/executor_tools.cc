#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/process_usage.h"
#include "engine/calls/call_runner.h"
#include "engine/calls/executor.h"
#include "engine/calls/fallbacks.h"
#include "engine/calls/sanitizer.h"
#include "engine/calls/secrets.h"
#include "staging/overlay/restaged.h"
#include "staging/sandbox/fixed_time.h"
#include "tools/output_sanitizer.h"
#include "tools/redactor.h"
#include "tools/tool_definition.h"

namespace galley {

namespace {

using nlohmann::json;
using nlohmann::ordered_json;

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

/// A dry run and a preview must leave nothing behind, and what acts elsewhere does.
std::optional<ToolError> refusal_to_try(const ToolInfo& info) {
  const bool is_elsewhere = info.category == ToolInfo::Category::kApi ||
                            info.category == ToolInfo::Category::kMcp ||
                            info.security_tier >= ToolInfo::Tier::kRestricted;
  if (!is_elsewhere) return {};
  return ToolError{ToolErrorCode::kPermission, "call.dry_run_outside",
                   "the tool '" + info.name +
                       "' acts outside of the tree, where nothing can be taken back; call it "
                       "without dry run or preview",
                   nullptr};
}

ToolError took_too_long(const ToolInfo& info, std::chrono::milliseconds time) {
  return {ToolErrorCode::kTimeout, "tool.timeout",
          "the tool '" + info.name + "' took longer than the " + std::to_string(time.count()) +
              " ms it has and nothing was staged; ask for less, or give the call more time "
              "(CallOptions::timeout, galley call --timeout)",
          nullptr};
}

/// Looks at what a call takes of this process, and at what it stages.
class UsageProbe {
 public:
  /// `writes` as the call's intent has them; empty of one that shows only afterwards.
  UsageProbe(const Overlay& overlay, const std::vector<RelPath>& writes, bool is_open_ended)
      : overlay_(&overlay), cpu_(thread_cpu_time()), peak_(peak_resident_bytes()) {
    if (is_open_ended) entries_ = overlay.entries();
    for (const RelPath& path : writes) named_.emplace_back(path, content_at(path));
  }

  void tell(const CallRunner::Usage& programs, ToolMeta& meta) const {
    const auto cpu = thread_cpu_time() - cpu_ + programs.cpu;
    meta.cpu_ms = std::chrono::duration_cast<std::chrono::milliseconds>(cpu).count();
    meta.bytes_written = static_cast<int64_t>(written());
    const uint64_t peak = peak_resident_bytes();
    const uint64_t growth = peak - peak_;
    meta.peak_memory = static_cast<int64_t>(programs.has_run ? programs.peak_memory_bytes : growth);
    if (growth > kMaxToolCallBytes) {
      meta.warnings.push_back("the call raised the memory of this process by " +
                              std::to_string(growth) + " bytes, more than the " +
                              std::to_string(kMaxToolCallBytes) + " of one call");
    }
    if (growth > 0 && peak > kMaxAllToolsBytes) {
      meta.warnings.push_back("this process took " + std::to_string(peak) +
                              " bytes of memory, more than the " +
                              std::to_string(kMaxAllToolsBytes) + " of all tools");
    }
  }

 private:
  /// The contents that the call put there.
  [[nodiscard]] uint64_t written() const {
    uint64_t bytes = 0;
    for (const auto& [path, before] : named_) {
      if (content_at(path) != before) bytes += size_at(path);
    }
    if (!entries_) return bytes;
    for (const RelPath& path : restaged_paths(*entries_, overlay_->entries())) {
      bytes += size_at(path);
    }
    return bytes;
  }
  [[nodiscard]] const Node* file_at(const RelPath& path) const {
    const auto entry = overlay_->entries().find(path);
    const bool is_file =
        entry != overlay_->entries().end() && entry->second.now.kind == FileKind::kRegular;
    return is_file ? &entry->second.now : nullptr;
  }
  [[nodiscard]] ContentId content_at(const RelPath& path) const {
    const Node* file = file_at(path);
    return file == nullptr ? ContentId() : file->content;
  }
  [[nodiscard]] uint64_t size_at(const RelPath& path) const {
    const Node* file = file_at(path);
    return file == nullptr ? 0 : file->size;
  }

  const Overlay* overlay_;
  std::chrono::nanoseconds cpu_;
  uint64_t peak_;
  std::optional<Overlay::Entries> entries_;
  std::vector<std::pair<RelPath, ContentId>> named_;
};

/// A tool promises not to throw; one that does anyway must not take the program with it.
ToolResult run_guarded(const Tool& tool, const json& args, ToolContext& context) {
  const auto threw = [&tool](std::string cause) {
    return ToolResult::failure({ToolErrorCode::kRuntime, "tool.threw",
                                "the tool '" + tool.info().name +
                                    "' failed inside, nothing was staged; the record has the cause",
                                nullptr, std::move(cause)});
  };
  try {
    return tool.run(args, context);
  } catch (const std::exception& error) {
    return threw(error.what());
  } catch (...) {
    return threw("an exception of an unknown type");
  }
}

}  // namespace

/// What its caller should know of a tool, and of how long it took.
void Executor::add_warnings(const ToolRegistry::Entry& entry, ToolMeta& meta) {
  const ToolInfo& info = entry.tool->info();
  if (!info.deprecated.empty()) {
    meta.warnings.push_back("the tool '" + info.name + "' is deprecated: " + info.deprecated +
                            (info.successor.empty() ? "" : "; use '" + info.successor + "'"));
  }
  if (entry.instance_bytes > kMaxToolInstanceBytes) {
    meta.warnings.push_back("the tool '" + info.name + "' itself took " +
                            std::to_string(entry.instance_bytes) +
                            " bytes of memory, more than the " +
                            std::to_string(kMaxToolInstanceBytes) + " of one tool");
  }
  const int64_t target = latency_target(info.category).count();
  if (meta.duration_ms <= target) return;
  meta.warnings.push_back("the call took " + std::to_string(meta.duration_ms) +
                          " ms; a tool of the category " + std::string(to_string(info.category)) +
                          " should take at most " + std::to_string(target));
}

/// `before` is what the overlay held before the first of several calls.
ToolResult Executor::call_once(Overlay& overlay, const Overlay::Entries& before,
                               const ToolCall& call) {
  Action action = action_of(call);
  const std::string id = sign_call(call, action);
  Prepared prepared;
  prepared.args = call.args ? call.args : std::make_shared<const json>(json::object());
  prepared.given = prepared.args;
  prepared.execution_id = id;
  auto found = find_tools(call.tool);
  std::vector<std::string> warnings;
  if (found) {
    const auto allowed = stack_.check(found->front()->tool->info());
    if (!allowed) action.record.error = tool_error_from(allowed.error());
    if (allowed) prepare(*found->front(), overlay, prepared, action);
    // One that could not even be made says nothing of its intent.
    while (action.record.error && found->size() > 1 &&
           may_fall_back(found->front()->tool->info(), *action.record.error)) {
      warnings.push_back(passed_over(*found->front(), *action.record.error, *(*found)[1]));
      found->erase(found->begin());
      action.record.error.reset();
      prepared.args = prepared.given;
      prepare(*found->front(), overlay, prepared, action);
    }
  } else {
    action.record.error = tool_error_from(found.error());
  }
  CallSecrets secrets(options_.secrets, options_.known_secrets);
  secrets.redact(action.record);
  const auto effect = [&](AuditEvent& record) {
    if (record.error) return ToolResult::failure(*record.error);
    ToolResult told = run_first_that_works(*found, prepared, {overlay, secrets}, record);
    if (told.ok && !options_.secrets_in_files) {
      const auto leak = secrets.refusal_of_effect(overlay, before);
      if (leak) told = ToolResult::failure(tool_error_from(*leak));
    }
    record.secrets_used = secrets.names();
    secrets.redact(record);
    return secrets.redacted(std::move(told));
  };
  ToolResult result = pass(&overlay, &before, std::move(action), effect).result;
  result.meta.execution_id = id;
  result.meta.warnings.insert(result.meta.warnings.end(), warnings.begin(), warnings.end());
  if (found) add_warnings(*found->front(), result.meta);
  return result;
}

/// What is on record of a call before its tool is looked at.
Action Executor::action_of(const ToolCall& call) const {
  Action action;
  action.record.kind =
      options_.dry_run || options_.is_preview ? AuditKind::kCallDryRun : AuditKind::kCall;
  action.record.tool = call.tool;
  action.record.call_id = call.call_id;
  action.record.reason = call.reason;
  action.record.parent_execution_id = stack_.execution_id();
  return action;
}

/// Gives a call the id of its record; empty where nothing is recorded.
std::string Executor::sign_call(const ToolCall& call, Action& action) const {
  if (recorder_->is_silent(action.record.kind)) return {};
  name_execution(action.record);
  if (call.args) action.record.input = std::make_shared<const ordered_json>(*call.args);
  return action.record.execution_id;
}

/// Puts the values of secrets into the arguments, in the last moment, and runs the tool.
ToolResult Executor::run_with_secrets(const ToolRegistry::Entry& entry, const Prepared& prepared,
                                      Overlay& overlay, CallSecrets& secrets) {
  if (!prepared.takes_secrets) return run_tool(entry, prepared, overlay, secrets);
  auto injected = secrets.injected(*prepared.args, config_of(entry.tool->info()).secrets);
  if (!injected) return ToolResult::failure(tool_error_from(injected.error()));
  if (*injected == nullptr) return run_tool(entry, prepared, overlay, secrets);
  Prepared with_values = prepared;
  with_values.args = *std::move(injected);
  with_values.parsed = nullptr;  // of the arguments without them
  return run_tool(entry, with_values, overlay, secrets);
}

/// What a call needs and will touch; with an error when its arguments are not what the tool takes.
void Executor::prepare(const ToolRegistry::Entry& entry, Overlay& overlay, Prepared& prepared,
                       Action& action) const {
  const ToolInfo& info = entry.tool->info();
  action.record.risk_level = to_string(info.risk_level);
  action.record.capabilities_used = info.capabilities;
  action.tools = {info.name};
  action.capabilities = info.capabilities;
  action.called = &info;
  action.arguments = prepared.args.get();
  action.only_looks = info.annotations.read_only;
  const auto refuse = [&action](ToolError error) { action.record.error = std::move(error); };
  if (const auto violations = entry.input.check(*prepared.args); !violations.empty()) {
    return refuse(
        validation_error("args.schema", "the arguments of '" + info.name + "'", violations));
  }
  if (const auto bad = check_start(overlay)) return refuse(tool_error_from(*bad));
  if (options_.dry_run || options_.is_preview) {
    if (auto no = refusal_to_try(info)) return refuse(*std::move(no));
  }
  auto filled = entry.defaults.fill(*prepared.args);
  if (!filled) return refuse(tool_error_from(filled.error()));
  if (*filled) prepared.args = std::make_shared<const json>(**std::move(filled));
  action.arguments = prepared.args.get();
  auto intent = entry.tool->intent(*prepared.args, {options_.root, scope_->cwd()});
  if (!intent) {
    return refuse(entry.factory != nullptr ? entry.factory->with_cause(intent.error())
                                           : tool_error_from(intent.error()));
  }
  action.intent = *std::move(intent);
  action.runs_program = action.intent.is_open_ended;
  prepared.parsed = action.intent.parsed;
  prepared.time = action.intent.timeout;
  prepared.reads = action.intent.reads;
  prepared.writes = action.intent.writes;
  prepared.is_open_ended = action.intent.is_open_ended;
  prepared.runs_programs = !action.intent.programs.empty();
  prepared.takes_secrets = arguments_take_secrets(action, options_.secrets_in_files);
  if (auto no = input_refusal(*prepared.args)) refuse(*std::move(no));
}

/// Whether the options can be read, and the call has a folder to start in.
std::optional<Error> Executor::check_start(Overlay& overlay) const {
  if (!scope_) return scope_.error();
  const RelPath& cwd = scope_->cwd();
  if (cwd.is_root()) return {};
  const auto node = overlay.node_without_content(cwd);
  if (!node) return node.error();
  if (node->kind == FileKind::kDirectory) return {};
  return Error{
      ErrorKind::kInvalid, "call.cwd",
      "the call is to start in '" + cwd.str() + "', which is no folder of the proposed tree",
      cwd.str(), 0};
}

ToolResult Executor::run_tool(const ToolRegistry::Entry& entry, const Prepared& prepared,
                              Overlay& overlay, CallSecrets& secrets) {
  const ToolInfo& info = entry.tool->info();
  const std::chrono::milliseconds time = time_of(info, prepared);
  const UsageProbe probe(overlay, prepared.writes, prepared.is_open_ended);
  LogFilter log(options_.logger, secrets.redactor());
  ToolContext context = context_for(info, overlay);
  context.deadline = Deadline::after(*clock_, time);
  context.parsed = prepared.parsed;
  context.secrets = context.call.secrets = secrets.provider(config_of(info).secrets);
  context.logger = context.call.logger = [&log](const ToolLog& line) { log.take(line); };
  std::optional<CallRunner> runner;
  if (options_.commands != nullptr) {
    runner.emplace(*options_.commands, options_, scope_->cwd(), memory_of(info), context.deadline,
                   *clock_);
    context.commands = &*runner;
  }
  if (context.stop.stop_requested()) {
    return ToolResult::failure(tool_error_from(context.interruption("")));
  }
  std::optional<CallStack::Frame> frame;
  watch_context(prepared, context);
  if (prepared.policy_mutex == nullptr) {
    frame.emplace(stack_, info, prepared.execution_id, context.deadline);
  }
  ToolResult result = run_guarded(*entry.tool, *prepared.args, context);
  log.finish();
  probe.tell(runner ? runner->usage() : CallRunner::Usage(), result.meta);
  if (options_.deterministic && runner && runner->usage().has_run) {
    for (std::string& note : determinism_notes(fixed_time_library())) {
      result.meta.warnings.push_back(std::move(note));
    }
  }
  if (result.ok) judge_result(entry, context, time, result);
  return result;
}

/// Turns an answer that came too late, or is not what the tool promises, into an error.
void Executor::judge_result(const ToolRegistry::Entry& entry, const ToolContext& context,
                            std::chrono::milliseconds time, ToolResult& result) {
  const ToolInfo& info = entry.tool->info();
  const auto fail_with = [&result](ToolError error) {
    ToolMeta meta = std::move(result.meta);
    result = ToolResult::failure(std::move(error));
    result.meta = std::move(meta);
  };
  if (context.stop.stop_requested()) {
    return fail_with(tool_error_from(context.interruption("")));
  }
  if (context.deadline.has_passed(context.clock)) return fail_with(took_too_long(info, time));
  if (const TextSanitizer clean = entry.tool->sanitizer()) {
    auto cleaned = sanitized_answer(*result.data, clean);
    if (!cleaned) return fail_with(tool_error_from(cleaned.error()));
    result.data = std::make_shared<const ordered_json>(*std::move(cleaned));
  }
  if (const auto violations = entry.output.check(*result.data); !violations.empty()) {
    ToolError error = validation_error("tool.output",
                                       "the tool '" + info.name + "' answered wrongly", violations);
    error.code = ToolErrorCode::kRuntime;
    fail_with(std::move(error));
  }
}

/// Everything that does not depend on one run.
ToolContext Executor::context_for(const ToolInfo& info, Overlay& overlay) const {
  ToolContext context{.overlay = overlay,
                      .clock = *clock_,
                      .root = options_.root,
                      .agent = options_.agent,
                      .capabilities = scope_->capabilities(),
                      .dry_run = options_.dry_run,
                      .deterministic = options_.deterministic,
                      .call = options_,
                      .deadline = {},
                      .commands = nullptr,
                      .logger = {},
                      .secrets = {},
                      .may_read = scope_->reading_rule(options_.may_read),
                      .judge = [this, &info](const Intent& access) -> Result<void> {
                        Action now;
                        now.tools = {info.name};
                        now.capabilities = info.capabilities;
                        now.only_looks = access.writes.empty();
                        now.intent = access;
                        const auto no = refusal(now);
                        return no ? Result<void>(*no) : Result<void>();
                      },
                      .last_step = options_.last_step,
                      .strict = options_.strict,
                      .earlier = options_.earlier,
                      .stop = options_.stop,
                      .cwd = scope_->cwd()};
  return context;
}

}  // namespace galley
