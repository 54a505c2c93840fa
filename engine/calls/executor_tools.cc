#include <algorithm>
#include <array>
#include <mutex>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/clock.h"
#include "base/text.h"
#include "engine/calls/call_runner.h"
#include "engine/calls/executor.h"
#include "engine/calls/retry_rule.h"
#include "engine/calls/sanitizer.h"
#include "engine/calls/secrets.h"
#include "engine/calls/seen_contents.h"
#include "staging/git/ignore_files.h"
#include "staging/overlay/stage_checks.h"
#include "staging/overlay/staged_step.h"
#include "staging/sandbox/fixed_time.h"
#include "tools/call_arguments.h"
#include "tools/edit_formats.h"
#include "tools/redactor.h"
#include "tools/tool_definition.h"
#include "tools/tool_view.h"

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

/// Forwards the log of a tool and redacts secrets, also where they are split between pieces.
class LogFilter {
 public:
  LogFilter(const std::function<void(const ToolLog&)>& sink, const Redactor& redactor)
      : sink_(sink),
        streams_{StreamRedactor(redactor), StreamRedactor(redactor), StreamRedactor(redactor)} {}

  void take(const ToolLog& log) {
    const auto i = static_cast<size_t>(log.stream);
    pass(log.stream, patterns_.at(i).feed(streams_.at(i).feed(log.text)));
    // A note comes in one piece.
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

/// Refuses tools that act outside of the tree in a dry run or a preview: their effects would last.
std::optional<ToolError> refusal_to_try(const ToolInfo& info) {
  const bool is_elsewhere = info.category == ToolInfo::Category::kApi ||
                            info.category == ToolInfo::Category::kMcp ||
                            info.security_tier >= ToolInfo::Tier::kRestricted;
  if (!is_elsewhere) return {};
  return ToolError{ToolErrorCode::kPermission, "call.dry_run_outside",
                   "the tool '" + info.name +
                       "' acts outside of the tree, where its effects cannot be undone; call it "
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

/// Measures the resources that a call uses in this process, and the bytes it stages.
class UsageProbe {
 public:
  /// `writes` are the paths in the intent of the call; empty if they are known only after it ran.
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
  /// Returns the size of the contents that the call wrote.
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

/// Tools must not throw. If one does, the process must survive.
ToolResult threw(const Tool& tool, std::string cause) {
  return ToolResult::failure({ToolErrorCode::kRuntime, "tool.threw",
                              "the tool '" + tool.info().name +
                                  "' failed inside, nothing was staged; the record has the cause",
                              nullptr, std::move(cause)});
}

ToolResult run_guarded(const Tool& tool, const json& args, ToolContext& context) {
  try {
    return tool.run(args, context);
  } catch (const std::exception& error) {
    return threw(tool, error.what());
  } catch (...) {
    return threw(tool, "an exception of an unknown type");
  }
}

/// Cleans the texts of an answer in place.
void clean_guarded(const Tool& tool, const TextSanitizer& clean, ToolResult& result) {
  const auto fail_with = [&result](ToolResult failure) {
    failure.meta = std::move(result.meta);
    result = std::move(failure);
  };
  try {
    auto cleaned = sanitized_answer(*result.data, clean);
    if (!cleaned) return fail_with(ToolResult::failure(tool_error_from(cleaned.error())));
    result.data = std::make_shared<const ordered_json>(*std::move(cleaned));
  } catch (const std::exception& error) {
    fail_with(threw(tool, error.what()));
  } catch (...) {
    fail_with(threw(tool, "an exception of an unknown type"));
  }
}

void add_missing(std::vector<std::string>& all, const std::vector<std::string>& more) {
  for (const std::string& one : more) {
    if (std::find(all.begin(), all.end(), one) == all.end()) all.push_back(one);
  }
}

/// The arguments with the names that the tool knows, if they are valid then. The names are added to
/// `message`.
std::optional<json> with_valid_names(const ToolRegistry::Entry& entry, const json& args,
                                     std::string& message) {
  std::string notes;
  auto named =
      with_known_names(json::parse(entry.tool->info().input_schema, nullptr, false), args, notes);
  if (!named || !entry.input.check(*named).empty()) return std::nullopt;
  message += notes;
  return named;
}

/// Notes the call of the only tool whose name differs from the given one in case.
void mean_tool(const std::vector<ToolInfo>& tools, const std::string& given, Admitted& what) {
  const auto is_it = [&](const ToolInfo& info) { return to_lower(info.name) == to_lower(given); };
  if (std::count_if(tools.begin(), tools.end(), is_it) != 1) return;
  what.meant_tool = std::find_if(tools.begin(), tools.end(), is_it)->name;
  what.meant_args = what.given;
}

}  // namespace

// --- admission ------------------------------------------------------------------------------

ToolView Executor::view() const {
  ToolCaller caller{options_.agent, options_.session_id, {}};
  if (options_.policy) {
    caller.has = [this](std::string_view needed) { return options_.policy->gives(needed); };
  }
  return {*registry_, std::move(caller), options_.tools};
}

Result<std::vector<ToolRegistry::EntryPointer>> Executor::find_tools(std::string_view name) const {
  return view().find(name);
}

/// Returns the record of a call before its tool is looked up.
Admitted Executor::asked(const ToolCall& call) const {
  Admitted what;
  what.arrival = now();
  AuditEvent& record = what.action.record;
  record.kind = options_.dry_run || options_.is_preview ? AuditKind::kCallDryRun : AuditKind::kCall;
  record.tool = call.tool;
  record.call_id = call.call_id;
  record.reason = call.reason;
  record.parent_execution_id = stack_.execution_id();
  what.given = call.args ? call.args : std::make_shared<const json>(json::object());
  what.args = what.given;
  return what;
}

/// Gives the call an execution id and records its input, unless calls are not recorded.
void Executor::name_call(const ToolCall& call, AuditEvent& record) const {
  if (recorder_->is_silent(record.kind)) return;
  name_execution(record);
  if (call.args) record.input = std::make_shared<const ordered_json>(*call.args);
}

/// Parses a call: finds its tools and the paths that it will touch.
Admitted Executor::admit(Overlay& overlay, const ToolCall& call) {
  Admitted what = asked(call);
  std::optional<ToolError>& flaw = what.action.record.error;
  name_call(call, what.action.record);
  if (call.flaw) {
    flaw = tool_error_from(*call.flaw);
    return what;
  }
  auto found = find_tools(call.tool);
  if (!found) {
    flaw = tool_error_from(found.error());
    if (flaw->reason == "tool.unknown") mean_tool(view().list(), call.tool, what);
    return what;
  }
  what.tools = *std::move(found);
  if (const auto allowed = stack_.check(what.tools.front()->tool->info()); !allowed) {
    flaw = tool_error_from(allowed.error());
    return what;
  }
  prepare(*what.tools.front(), overlay, what);
  // A tool that cannot be created cannot list its intent, so the next tool is used.
  while (flaw && what.tools.size() > 1 && may_fall_back(what.tools.front()->tool->info(), *flaw)) {
    what.warnings.push_back(skipped_tool_warning(*what.tools.front(), *flaw, *what.tools[1]));
    what.tools.erase(what.tools.begin());
    flaw.reset();
    prepare(*what.tools.front(), overlay, what);
  }
  return what;
}

/// Moves ids among the arguments to the record, unless the options of the call have them.
void Executor::take_ids(const ToolInfo& info, Admitted& what) const {
  what.args = what.given;
  if (!what.given->contains("sessionId") && !what.given->contains("callId")) return;
  json args = *what.given;
  CallIds ids = take_call_ids(info, args);
  what.args = std::make_shared<const json>(std::move(args));
  AuditEvent& record = what.action.record;
  if (options_.session_id.empty()) record.session_id = std::move(ids.session_id);
  if (options_.call_id.empty() && record.call_id.empty()) record.call_id = std::move(ids.call_id);
}

/// Finds what a call needs and will touch. Sets an error if the arguments are invalid.
void Executor::prepare(const ToolRegistry::Entry& entry, Overlay& overlay, Admitted& what) const {
  const ToolInfo& info = entry.tool->info();
  Action& action = what.action;
  take_ids(info, what);
  action.record.risk_level = to_string(info.risk_level);
  action.record.capabilities_used = info.capabilities;
  action.tools = {info.name};
  action.capabilities = info.capabilities;
  action.called = &info;
  action.arguments = what.args.get();
  action.only_looks = info.annotations.read_only;
  const auto refuse = [&action](ToolError error) { action.record.error = std::move(error); };
  what.meant_args = nullptr;
  if (const auto violations = entry.input.check(*what.args); !violations.empty()) {
    ToolError error =
        validation_error("args.schema", "the arguments of '" + info.name + "'", violations);
    if (auto named = with_valid_names(entry, *what.args, error.message)) {
      what.meant_tool = info.name;
      what.meant_args = std::make_shared<const json>(*std::move(named));
    }
    return refuse(std::move(error));
  }
  if (const auto bad = check_start(overlay)) return refuse(tool_error_from(*bad));
  if (options_.dry_run || options_.is_preview) {
    if (auto no = refusal_to_try(info)) return refuse(*std::move(no));
  }
  if (auto twice = contradiction(info.input_schema, *what.args)) {
    return refuse({ToolErrorCode::kValidation, "args.mixed", *std::move(twice), nullptr, {}});
  }
  auto filled = entry.defaults.fill(*what.args);
  if (!filled) return refuse(tool_error_from(filled.error()));
  if (*filled) what.args = std::make_shared<const json>(**std::move(filled));
  action.arguments = what.args.get();
  auto intent = entry.tool->intent(*what.args, {options_.root, scope_->cwd(), options_.agent});
  if (!intent) {
    Error error = intent.error();
    const auto may_read =
        scope_->reading_rule(options_.policy ? options_.policy->reading_rule() : nullptr);
    (void)name_file_inside(overlay.workspace(), may_read, error);
    return refuse(entry.factory != nullptr ? entry.factory->with_cause(error)
                                           : tool_error_from(error));
  }
  action.intent = *std::move(intent);
  action.runs_program = action.intent.is_open_ended;
  if (auto no = refusal_of_unseen(action.intent, overlay)) return refuse(*std::move(no));
  if (auto no = refusal_of_stale_numbers(action.intent, overlay)) return refuse(*std::move(no));
  const bool looks = action.only_looks || action.runs_program;
  // Times of files are those of the system, also in tests.
  if (looks && options_.seen != nullptr) {
    options_.seen->note_look(session(), SystemClock().wall_ns());
  }
  if (auto no = input_refusal(*what.args)) refuse(*std::move(no));
}

/// Adds the call that was probably meant to the error, if its arguments are valid. It is not tried:
/// only names were wrong, so its effect is the one that was stated.
void Executor::offer(const ToolCall& meant, const std::string& called, ToolError& error) const {
  const auto found = find_tools(meant.tool);
  if (!found) return;
  const ToolRegistry::Entry& entry = *found->front();
  json args = *meant.args;
  (void)take_call_ids(entry.tool->info(), args);
  if (!entry.input.check(args).empty()) {
    auto named = with_valid_names(entry, args, error.message);
    if (!named) return;
    args = *std::move(named);
  }
  add_meant_call(called, meant.tool, args, error);
}

/// Checks that the options are valid and the working directory of the call exists.
std::optional<Error> Executor::check_start(Overlay& overlay) const {
  if (!scope_) return scope_.error();
  const RelPath& cwd = scope_->cwd();
  if (cwd.is_root()) return {};
  const auto node = overlay.node_without_content(cwd);
  if (!node) return node.error();
  if (node->kind == FileKind::kDirectory) return {};
  return Error{
      ErrorKind::kInvalid, "call.cwd",
      "the call cannot start in '" + cwd.str() + "', which is not a folder of the proposed tree",
      cwd.str(), 0};
}

// --- running --------------------------------------------------------------------------------

/// Calls the first tool, and the next one of the same name as long as the earlier ones cannot
/// answer. Redacts secrets in the result. A call that stages a secret fails, unless galley.toml
/// allows it.
ToolResult Executor::answer(Allowed& call, const Place& place) {
  const std::vector<ToolRegistry::EntryPointer>& tools = call.what_.tools;
  AuditEvent& record = call.what_.action.record;
  std::optional<Overlay::Entries> before;
  if (tools.size() > 1) before = place.overlay->entries();
  ToolResult result = run_supervised(call, {*tools.front(), *place.overlay, *place.secrets});
  std::vector<std::string> warnings;
  for (size_t next = 1; next < tools.size(); ++next) {
    const ToolRegistry::Entry& tried = *tools[next - 1];
    if (result.ok || !may_fall_back(tried.tool->info(), *result.error)) break;
    place.overlay->restore(*before);
    const ToolRegistry::Entry& entry = *tools[next];
    Admitted instead;
    instead.given = call.what_.given;
    instead.action.record.execution_id = record.execution_id;
    prepare(entry, *place.overlay, instead);
    if (instead.action.record.error || refusal(instead.action)) continue;
    if (options_.desk && confirm_call(instead.action, *options_.desk)) continue;
    warnings.push_back(skipped_tool_warning(tried, *result.error, entry));
    add_missing(record.capabilities_used, entry.tool->info().capabilities);
    result = run_supervised(Allowed(std::move(instead)), {entry, *place.overlay, *place.secrets});
  }
  result.meta.warnings.insert(result.meta.warnings.end(), warnings.begin(), warnings.end());
  if (result.ok && !options_.secrets_in_files) {
    const auto leak = place.secrets->refusal_of_effect(*place.overlay, *place.before);
    if (leak) result = ToolResult::failure(tool_error_from(*leak));
  }
  record.secrets_used = place.secrets->names();
  place.secrets->redact(record);
  return place.secrets->redacted(std::move(result));
}

/// Runs the tool through queue, health, cache and retries, if there is a supervisor.
ToolResult Executor::run_supervised(const Allowed& call, const Attempt& attempt) {
  if (options_.supervisor == nullptr) return run_tool(call, attempt, nullptr);
  const ToolInfo& info = attempt.entry.tool->info();
  const Intent& intent = call.what().action.intent;
  CallSupervisor::Call asked{attempt.entry, *call.what().args, attempt.overlay, intent.reads,
                             intent.is_open_ended};
  asked.cwd = scope_->cwd().str();
  asked.deadline = Deadline::after(*clock_, time_of(info, intent));
  asked.stop = options_.stop;
  asked.is_nested = stack_.is_nested();
  if (!intent.programs.empty()) asked.memory_bytes = memory_of(info);
  if (intent.is_open_ended) {
    // The reads were checked for the first caller, so they are checked again for this one.
    asked.may_read = [this, &info](const RelPath& path) {
      Action look;
      look.tools = {info.name};
      look.capabilities = info.capabilities;
      look.only_looks = true;
      look.intent.reads = {path};
      return !refusal(look);
    };
  }
  CallSupervisor::SupervisedCall supervised = options_.supervisor->take(asked);
  while (!supervised.answer()) {
    ToolResult result = run_tool(call, attempt, &supervised.notes());
    if (!attempt.secrets.names().empty()) supervised.notes().forbid_caching();
    supervised.note(std::move(result));
  }
  return *std::move(supervised.answer());
}

/// Inserts the values of secrets into the arguments as late as possible, and runs the tool.
ToolResult Executor::run_tool(const Allowed& call, const Attempt& attempt, ReadNotes* notes) {
  const ToolInfo& info = attempt.entry.tool->info();
  const Action& action = call.what().action;
  std::shared_ptr<const json> with_values;
  if (arguments_take_secrets(action, options_.secrets_in_files)) {
    auto injected = attempt.secrets.injected(*call.what().args, config_of(info).secrets);
    if (!injected) return ToolResult::failure(tool_error_from(injected.error()));
    with_values = *std::move(injected);
  }
  const std::chrono::milliseconds time = time_of(info, action.intent);
  const UsageProbe probe(attempt.overlay, action.intent.writes, action.intent.is_open_ended);
  const bool is_aside = attempt.policy_mutex != nullptr;
  LogFilter log(options_.logger, attempt.secrets.redactor());
  ToolContext context = context_for(info, attempt, notes);
  context.deadline = Deadline::after(*clock_, time);
  const AuditEvent& record = action.record;
  if (!record.call_id.empty()) context.call.call_id = record.call_id;
  if (!record.session_id.empty()) context.call.session_id = record.session_id;
  if (with_values == nullptr) context.parsed = action.intent.parsed;  // of the same arguments
  if (!is_aside) {
    context.logger = context.call.logger = [&log](const ToolLog& line) { log.take(line); };
  }
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
  if (!is_aside) frame.emplace(stack_, info, action.record.execution_id, context.deadline);
  const json& arguments = with_values != nullptr ? *with_values : *call.what().args;
  ToolResult result = run_guarded(*attempt.entry.tool, arguments, context);
  log.finish();
  probe.tell(runner ? runner->usage() : CallRunner::Usage(), result.meta);
  if (options_.deterministic && runner && runner->usage().has_run) {
    for (std::string& note : determinism_notes(fixed_time_library())) {
      result.meta.warnings.push_back(std::move(note));
    }
  }
  if (result.ok && !context.unreadable.empty()) {
    constexpr size_t kMostNamed = 10;
    result.meta.unreadable = result.meta.warnings.size();
    result.meta.warnings.push_back("left out, because you may not read it: " +
                                   join_some(context.unreadable, kMostNamed));
    if (notes != nullptr) notes->forbid_caching();  // they do not have what was left out
  }
  if (result.ok) judge_result(attempt.entry, context, time, result);
  return result;
}

/// Makes the context of a tool. Its reads are checked and noted, and it can call other tools. On a
/// thread of its own (executor_reads.cc) it cannot call others, and the threads share the checks.
ToolContext Executor::context_for(const ToolInfo& info, const Attempt& attempt, ReadNotes* notes) {
  Overlay& overlay = attempt.overlay;
  ToolContext context{
      .overlay = overlay,
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
      .secrets = attempt.secrets.provider(config_of(info).secrets),
      .may_read = scope_->reading_rule(options_.policy ? options_.policy->reading_rule() : nullptr),
      .judge = [this, &info, &overlay, notes,
                mutex = attempt.policy_mutex](const Intent& access) -> Result<void> {
        Action now;
        now.tools = {info.name};
        now.capabilities = info.capabilities;
        now.only_looks = access.writes.empty();
        now.intent = access;
        std::unique_lock<std::mutex> lock;
        if (mutex != nullptr) lock = std::unique_lock(*mutex);
        if (auto no = refusal(now)) return fail(*std::move(no));
        if (notes == nullptr) return {};
        for (const RelPath& path : access.reads) notes->note(overlay, path);
        return {};
      },
      .last_step = options_.last_step,
      .strict = options_.strict,
      .is_left_out = left_out_of_checkout(options_.root),
      .earlier = options_.earlier,
      .is_stale =
          [this](const RelPath& path, std::string_view content) {
            return options_.seen != nullptr &&
                   !options_.seen->knows(session(), path, ContentId::of(content));
          },
      .stop = options_.stop,
      .cwd = scope_->cwd()};
  context.call.secrets = context.secrets;
  if (attempt.policy_mutex != nullptr) {
    context.call.progress = {};
    context.call.logger = {};
    return context;
  }
  // A nested call has its own record, which names the record of its caller.
  context.call_tool = [this, &overlay](const std::string& tool, const json& args) {
    ToolCall call;
    call.tool = tool;
    call.args = std::make_shared<const json>(args);
    call.reason = "called by the tool " + stack_.caller();
    const Overlay::Entries before = overlay.entries();
    return call_once(overlay, before, call);
  };
  return context;
}

/// Converts a result that is late, or violates the declarations of its tool, into an error.
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
    clean_guarded(*entry.tool, clean, result);
    if (!result.ok) return;
  }
  if (const auto violations = entry.output.check(*result.data); !violations.empty()) {
    ToolError error = validation_error("tool.output",
                                       "the tool '" + info.name + "' answered wrongly", violations);
    error.code = ToolErrorCode::kRuntime;
    fail_with(std::move(error));
  }
}

// --- what a tool may take -------------------------------------------------------------------

/// The time of a call: the caller's limit, else the one in the arguments, else the tool's.
/// `[tools.NAME]` and the time that is left to the calling tool are upper bounds.
std::chrono::milliseconds Executor::time_of(const ToolInfo& info, const Intent& intent) const {
  const std::chrono::milliseconds usual = timeout_of(info);
  const bool is_configured = config_of(info).timeout_ms > 0;
  const std::chrono::milliseconds most =
      is_configured ? options_.supervisor->time_for(info.name, usual) : usual;
  std::chrono::milliseconds time =
      options_.timeout ? *options_.timeout : intent.timeout.value_or(most);
  if (is_configured) time = std::min(time, most);
  return stack_.bounded(time, *clock_);
}

const ToolConfig& Executor::config_of(const ToolInfo& info) const {
  static const ToolConfig kUsual;
  return options_.supervisor != nullptr ? options_.supervisor->config_of(info.name) : kUsual;
}

/// The memory limit for the programs of one call. `[sandbox]` is an upper bound as well.
uint64_t Executor::memory_of(const ToolInfo& info) const {
  const ToolConfig& config = config_of(info);
  const uint64_t usual = memory_limit_of(info);
  if (config.max_memory_bytes == 0) return usual;
  return config.only_narrows ? std::min(usual, config.max_memory_bytes) : config.max_memory_bytes;
}

/// Adds warnings about the tool and the duration of the call.
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

}  // namespace galley
