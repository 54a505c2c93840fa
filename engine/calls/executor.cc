#include "engine/calls/executor.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/calls/secrets.h"
#include "engine/calls/seen_contents.h"
#include "staging/overlay/view_times.h"
#include "tools/call_diff.h"
#include "tools/json_input.h"

namespace galley {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr size_t kMaxCalls = 100'000;  // calls in one document

/// Returns the set options of the caller that are not members of a record; null if there are none.
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

/// Directories end with a slash.
std::vector<std::string> names_of(const ChangeSet& changes) {
  std::vector<std::string> names;
  for (const Change& change : changes) {
    const FileKind kind = change.is_delete() ? change.before.kind : change.after.kind;
    names.push_back(change.path.str() + (kind == FileKind::kDirectory ? "/" : ""));
  }
  return names;
}

ToolResult unrecorded(const Error& why) {
  ToolError error = tool_error_from(why);
  error.message = "it could not be recorded, so it was not run: " + error.message;
  return ToolResult::failure(std::move(error));
}

/// `texts` are the text that the session saw last and the present one; the error shows the save
/// with them.
ToolError unseen_error(const RelPath& path, const std::string& why,
                       const std::optional<std::pair<Content, Content>>& texts) {
  ToolError error{
      ToolErrorCode::kRuntime,
      "file.changed_since_read",
      "'" + path.str() + "' was saved by another program since this session looked" + why,
      nullptr,
      {}};
  if (!texts) return error;
  ordered_json details = {{"path", path.str()}};
  CallDiff::put_between(path, *texts->first, *texts->second, details);
  error.message += "; since then these lines were changed:\n";
  error.message += details["diff"].get_ref<const std::string&>();
  error.details = std::make_shared<const ordered_json>(std::move(details));
  return error;
}

/// True if both texts have the same first `lines` lines, or are equal.
bool begin_alike(std::string_view one, std::string_view other, uint64_t lines) {
  size_t end = 0;
  for (; lines > 0 && end < one.size(); --lines)
    end = std::min(one.find('\n', end), one.size() - 1) + 1;
  return lines == 0 ? other.substr(0, end) == one.substr(0, end) : one == other;
}

tl::unexpected<Error> malformed_calls(const std::string& why) {
  return fail(ErrorKind::kInvalid, "calls.malformed",
              "the document of calls is malformed: " + why +
                  R"(; wanted [{"tool": "Write", "args": {…}}, …])");
}

}  // namespace

ToolCall ToolCall::parse(std::string tool, std::string_view args_text) {
  ToolCall call;
  call.tool = std::move(tool);
  auto args = parse_json(args_text);
  if (args) {
    call.args = std::make_shared<const json>(*std::move(args));
  } else {
    call.flaw = args.error();
  }
  return call;
}

std::string warn_unrecorded(ToolMeta& meta, const Error& why) {
  meta.unrecorded = meta.warnings.size();
  return meta.warnings.emplace_back("this call is not in the audit log: " + why.message);
}

const std::string* unrecorded_warning(const ToolMeta& meta) {
  return meta.unrecorded ? &meta.warnings[*meta.unrecorded] : nullptr;
}

const std::string* unreadable_warning(const ToolMeta& meta) {
  return meta.unreadable ? &meta.warnings[*meta.unreadable] : nullptr;
}

Result<std::vector<ToolCall>> parse_calls(std::string_view text) {
  GALLEY_ASSIGN(json document, parse_json(text));
  if (document.is_object()) document = json::array({std::move(document)});  // a single call
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

// --- the stations ---------------------------------------------------------------------------

Recorded Executor::process(Admitted&& what, const Place& place) {
  StepScope scope(place.overlay);
  auto allowed = allow(std::move(what));
  Ran ran = allowed ? run(*std::move(allowed), place) : std::move(allowed).error();
  if (place.overlay != nullptr) note_absent(ran.action_.intent, *place.overlay);
  if (!ran.is_kept() && place.before != nullptr) roll_back(*place.overlay, *place.before);
  ran.changes_ = scope.finish();
  return record_result(std::move(ran), place);
}

/// Runs every check that can refuse the action before it is performed.
tl::expected<Allowed, Ran> Executor::allow(Admitted&& what) {
  Action& action = what.action;
  if (!recorder_->is_silent(action.record.kind)) name_execution(action.record);
  if (action.record.error) return Allowed(std::move(what));  // it will not be performed
  const auto unrecorded_action = [&](const Error& error) {
    Ran refused(std::move(what), error);
    refused.is_silent_ = true;
    refused.result_ = unrecorded(error);
    return tl::make_unexpected(std::move(refused));
  };
  if (const auto room = recorder_->make_room(); !room) return unrecorded_action(room.error());
  auto no = refusal(action);
  if (!no && options_.stop.stop_requested()) {  // no person is asked, no kept answer is used
    no = call_cancelled();
  }
  if (!no && options_.desk) no = confirm_call(action, *options_.desk);
  if (no) {
    const bool is_silent = no->reason == kUnanswered;
    Ran refused(std::move(what), *std::move(no));
    refused.is_silent_ = is_silent;
    return tl::make_unexpected(std::move(refused));
  }
  if (!action.runs_program) return Allowed(std::move(what));
  if (const auto begun = record_begin(action); !begun) return unrecorded_action(begun.error());
  return Allowed(std::move(what));
}

/// Performs the action and checks the staged changes.
Ran Executor::run(Allowed&& what, const Place& place) {
  Action& action = what.what_.action;
  ToolResult result;
  std::optional<Error> failure;
  if (action.record.error) {
    result = ToolResult::failure(*action.record.error);
    if (place.secrets != nullptr) result = place.secrets->redacted(std::move(result));
  } else if (place.effect == nullptr) {
    result = answer(what, place);
  } else if (const auto done = (*place.effect)(action.record); done) {
    result.ok = true;
  } else {
    failure = done.error();
  }
  Ran ran(std::move(what), std::move(result));
  if (failure) ran.fail(*std::move(failure));
  if (!ran.result_.ok || place.before == nullptr) return ran;
  if (auto no = refusal_of_effect(ran.action_, place)) ran.refuse(*std::move(no));
  return ran;
}

/// Records the result. If that fails, the changes are reverted.
Recorded Executor::record_result(Ran&& ran, const Place& place) {
  Action& action = ran.action_;
  ToolMeta& meta = ran.result_.meta;
  if (meta.started_at.empty()) measure(ran.arrival_, meta);
  meta.dry_run = options_.dry_run;
  meta.execution_id = action.record.execution_id;
  // The changes of nested calls are part of the step of the outer call.
  const bool is_step = ran.is_kept() && place.overlay != nullptr && !options_.dry_run &&
                       action.record.parent_execution_id.empty();
  StagedStep step{action.record.execution_id, action.record.tool, std::move(ran.changes_)};
  if (ran.is_kept() && place.overlay != nullptr) note_seen(action, step.changes, *place.overlay);
  if (is_step) action.record.changed = names_of(step.changes);
  AuditKind& kind = action.record.kind;
  const bool is_agents_try = (action.is_trial || options_.is_preview) && !options_.agent.empty() &&
                             !recorder_->is_silent(kind);
  if (is_agents_try && kind != AuditKind::kEditsDropped && kind != AuditKind::kCallsDropped) {
    kind = AuditKind::kCallDryRun;
  }
  const bool is_quiet = (action.is_trial && !is_agents_try) || action.records_itself;
  if (ran.is_silent_ || (is_quiet && !ran.is_refused_)) {
    return {std::move(ran.result_), std::move(ran.no_)};
  }
  const bool is_try = action.is_trial || options_.is_preview;
  const bool has_effect =
      place.effect != nullptr || (ran.result_.ok && !options_.dry_run && !action.only_looks);
  const bool needs_record = action.runs_program || (has_effect && !is_try);
  const auto recorded = record(std::move(action), ran.result_);
  if (!recorded && !needs_record) {
    unrecorded_ = warn_unrecorded(ran.result_.meta, recorded.error());
  } else if (!recorded) {
    if (place.before != nullptr) place.overlay->restore(*place.before);
    ToolResult result = unrecorded(recorded.error());
    result.meta = std::move(ran.result_.meta);
    return {std::move(result), recorded.error()};
  }
  if (is_step && !step.changes.empty()) steps_.push_back(std::move(step));
  return {std::move(ran.result_), std::move(ran.no_)};
}

std::optional<Error> Executor::refusal(const Action& action) const {
  if (!scope_) return scope_.error();
  if (auto missing = scope_->refusal(action)) return missing;
  return options_.policy ? options_.policy->refusal(action) : std::nullopt;
}

/// Whether refusal_of_effect can return an error, apart from its check for redaction markers.
bool Executor::judges_effects() const {
  return (scope_ && scope_->judges_effects()) ||
         (options_.policy && options_.policy->judges_effects());
}

std::optional<Error> Executor::refusal_of_effect(const Action& action, const Place& place) const {
  const Overlay::Entries& now = place.overlay->entries();
  if (auto missing = scope_->refusal_of_effect(action, *place.before, now)) return missing;
  if (options_.policy && options_.policy->judges_effects()) {
    if (auto no = options_.policy->refusal_of_effect(action, *place.before, now)) return no;
  }
  const bool is_said_by_tool = action.called != nullptr || !options_.agent.empty();
  if (!is_said_by_tool) return {};
  return refusal_of_markers(action, *place.overlay, *place.before);
}

std::optional<ToolError> Executor::refusal_of_unseen(const Intent& intent, Overlay& overlay) const {
  if (options_.seen == nullptr) return {};
  std::vector<RelPath> replaced = intent.replaces;
  for (const RelPath& path : intent.replaces) {
    const auto there = overlay.node_without_content(path);
    if (!there || there->kind != FileKind::kDirectory) continue;
    const std::vector<RelPath> below = options_.seen->files_below(session(), path);
    replaced.insert(replaced.end(), below.begin(), below.end());
  }
  for (const RelPath& path : replaced) {
    if (!is_unseen(path, overlay)) continue;
    return unseen_error(path,
                        ", and writing or deleting all of it would drop that save: read it again "
                        "first",
                        seen_and_now(path, overlay));
  }
  return {};
}

std::optional<ToolError> Executor::refusal_of_stale_numbers(const Intent& intent,
                                                            Overlay& overlay) const {
  if (options_.seen == nullptr) return {};
  for (const auto& [path, last] : intent.numbered) {
    if (!is_unseen(path, overlay)) continue;
    const auto texts = seen_and_now(path, overlay);
    if (texts && begin_alike(*texts->first, *texts->second, last)) continue;
    return unseen_error(path, ", so its lines may have other numbers now: read it again first",
                        texts);
  }
  return {};
}

bool Executor::is_unseen(const RelPath& path, Overlay& overlay) const {
  const auto there = overlay.node(path);
  if (!there || there->kind != FileKind::kRegular) return false;
  if (!options_.seen->knows(session(), path, there->content)) return true;
  const auto entry = overlay.entries().find(path);
  return entry != overlay.entries().end() && entry->second.now == entry->second.before &&
         options_.seen->looked_before(session(), path, entry->second.base.ctime_ns);
}

std::optional<std::pair<Content, Content>> Executor::seen_and_now(const RelPath& path,
                                                                  Overlay& overlay) const {
  const Content before = options_.seen->last_text(session(), path);
  const auto node = overlay.node(path);
  const auto may_read =
      scope_->reading_rule(options_.policy ? options_.policy->reading_rule() : nullptr);
  const bool is_shown =
      before != nullptr && node && node->size <= kMaxSeenText && (!may_read || may_read(path));
  auto after = is_shown ? overlay.read(path) : Result<Content>(Error());
  if (!after) return {};
  return std::pair(before, *std::move(after));
}

/// Records the paths that a call looked for in vain. A file that another program creates there is
/// then a save that the session has not seen.
void Executor::note_absent(const Intent& intent, const Overlay& overlay) const {
  if (options_.seen == nullptr) return;
  for (const RelPath& path : intent.reads) {
    const auto entry = overlay.entries().find(path);
    const bool is_absent =
        entry != overlay.entries().end() && entry->second.now.kind == FileKind::kAbsent;
    if (is_absent) options_.seen->note(session(), path, ContentId());
  }
}

/// Records the contents that a call read, and both sides of each change, as seen by the session.
void Executor::note_seen(const Action& action, const ChangeSet& changes, Overlay& overlay) const {
  if (options_.seen == nullptr || action.merges) return;
  const std::string seen_by = session();
  const auto note = [&](const RelPath& path, const Node& node, bool is_now = true) {
    if (node.kind != FileKind::kRegular || node.content == ContentId()) return;
    // A command may change many files, and the agent has not seen their text.
    const bool is_kept = is_now && !action.runs_program && node.size <= kMaxSeenText;
    const auto text = is_kept ? overlay.read(path) : Result<Content>(Content());
    options_.seen->note(seen_by, path, node.content, text.value_or(nullptr));
  };
  for (const RelPath& path : action.intent.reads) {
    const auto entry = overlay.entries().find(path);
    if (entry != overlay.entries().end()) note(path, entry->second.now);
  }
  for (const Change& change : changes) {
    // An edit of a file that another program has saved since shows only a part of that save.
    const bool is_blind = change.before.kind == FileKind::kRegular &&
                          !options_.seen->knows(seen_by, change.path, change.before.content);
    if (is_blind) continue;
    note(change.path, change.before, false);
    note(change.path, change.after);
  }
}

std::string Executor::session() const {
  return options_.seen_by.empty() ? options_.agent + "\n" + options_.session_id : options_.seen_by;
}

/// Sets start, end and duration. The action ends now.
void Executor::measure(const Arrival& arrival, ToolMeta& meta) const {
  meta.started_at = rfc3339_utc(arrival.wall_ns);
  meta.ended_at = rfc3339_utc(clock_->wall_ns());
  meta.duration_ms =
      std::chrono::duration_cast<std::chrono::milliseconds>(clock_->steady() - arrival.steady)
          .count();
}

/// A program may outlive the process that starts it, so it is recorded before it starts.
Result<void> Executor::record_begin(Action& action) {
  if (recorder_->is_silent(action.record.kind) || action.is_trial) return {};
  sign(action.record);
  AuditEvent begun = action.record;
  begun.kind = AuditKind::kBegun;
  begun.execution_id += kBegunSuffix;
  GALLEY_TRY(recorder_->record(std::move(begun)));
  return recorder_->write_held();  // a transaction in memory may end without a commit
}

void Executor::name_execution(AuditEvent& event) const {
  if (event.execution_id.empty()) event.execution_id = new_execution_id(*clock_);
}

void Executor::sign(AuditEvent& event) const {
  name_execution(event);
  event.agent = options_.agent;
  event.owner = options_.owner;
  event.task_id = options_.task_id;
  event.goal_id = options_.goal_id;
  if (!options_.session_id.empty()) event.session_id = options_.session_id;
  if (event.context == nullptr) event.context = context_of(options_);
  if (event.call_id.empty()) event.call_id = options_.call_id;
  if (event.reason.empty()) event.reason = options_.reason;
}

Result<void> Executor::record(Action&& action, const ToolResult& result) {
  if (recorder_->is_silent(action.record.kind)) return {};
  AuditEvent& event = action.record;
  sign(event);
  if (result.data) event.output = result.data;
  if (result.error) event.error = result.error;
  event.duration_ms = result.meta.duration_ms;
  return recorder_->record(std::move(event));
}

Result<void> Executor::perform(Overlay* overlay, Action action, const Effect& effect) {
  // An atomic effect needs no copy of the overlay to restore, unless it can be refused later.
  const bool is_safe =
      action.is_atomic && !action.is_trial && (recorder_->holds() || action.records_itself);
  std::optional<Overlay::Entries> before;
  if (overlay != nullptr && (!is_safe || judges_effects())) before = overlay->entries();
  const Recorded recorded =
      process(Admitted{std::move(action), now()},
              {.overlay = overlay, .before = before ? &*before : nullptr, .effect = &effect});
  return recorded.error ? Result<void>(*recorded.error) : Result<void>();
}

// --- tool calls -----------------------------------------------------------------------------

/// `before` are the entries of the overlay before the first of several calls.
ToolResult Executor::call_once(Overlay& overlay, const Overlay::Entries& before,
                               const ToolCall& call) {
  CallSecrets secrets(options_.secrets, options_.known_secrets);
  Admitted what = admit(overlay, call);
  secrets.redact(what.action.record);
  const auto tool = what.tools.empty() ? nullptr : what.tools.front();
  std::vector<std::string> warnings = std::move(what.warnings);
  std::optional<ToolCall> meant;
  std::string flaw;
  if (what.meant_args != nullptr) {
    meant = call;
    meant->tool = what.meant_tool;
    meant->args = what.meant_args;
    flaw = what.action.record.error->reason;
  }
  ToolResult result =
      process(std::move(what), {.overlay = &overlay, .before = &before, .secrets = &secrets})
          .result;
  if (meant && result.error && result.error->reason == flaw) {
    offer(*meant, call.tool, *result.error);
    result = secrets.redacted(std::move(result));
  }
  result.meta.warnings.insert(result.meta.warnings.end(), warnings.begin(), warnings.end());
  if (tool != nullptr) add_warnings(*tool, result.meta);
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
  for (const StagedStep& step : steps_) {
    dropped.record.executions.push_back(step.execution_id);
  }
  const auto recorded = record(std::move(dropped), ToolResult());
  if (!recorded) {
    unrecorded_ = warn_unrecorded(staged.results.back().meta, recorded.error());
  }
  return staged;
}

}  // namespace galley
