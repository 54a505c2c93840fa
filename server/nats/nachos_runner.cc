#include "server/nats/nachos_runner.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <memory>
#include <set>
#include <utility>

#include "base/encoding.h"
#include "base/text.h"
#include "engine/audit/recorded_calls.h"
#include "engine/calls/executor.h"
#include "engine/pipeline/custom_tools.h"
#include "engine/pipeline/inner_transaction.h"
#include "engine/pipeline/trust.h"
#include "engine/pipeline/workspace_state.h"
#include "server/session/call_results.h"
#include "server/telemetry/telemetry.h"
#include "tools/json_input.h"
#include "tools/profiles.h"
#include "tools/shapes.h"

namespace galley {
namespace {

constexpr const char* kDoor = "nachos";  // in the names of sessions
/// How often the audit log is searched for shared answers. Callers choose how often they ask.
constexpr std::chrono::seconds kRecallEvery{10};

using nlohmann::json;
using nlohmann::ordered_json;

/// Ids are a part of the message of a transaction, which is one line.
bool is_id(const std::string& text) {
  return !text.empty() && text.size() <= NachosRunner::kMostIdBytes && text.front() != ' ' &&
         text.back() != ' ' &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

/// A random UUID, version 4 (RFC 9562).
std::string new_uuid() {
  std::string digits = random_hex(32);
  constexpr size_t kVersionAt = 12;
  constexpr size_t kVariantAt = 16;
  digits[kVersionAt] = '4';
  digits[kVariantAt] = "89ab"[digits[kVariantAt] % 4];
  for (const size_t dash : {20U, 16U, 12U, 8U}) digits.insert(dash, "-");
  return digits;
}

ToolResult failure(const Error& error) { return ToolResult::failure(tool_error_from(error)); }

Error invalid(std::string reason, std::string message) {
  return {ErrorKind::kInvalid, std::move(reason), std::move(message), "", 0};
}

/// The error of an unknown action of the tool `transaction`.
std::optional<Error> flaw_of_action(std::string_view action) {
  if (action == "begin" || action == "commit" || action == "rollback") return {};
  return invalid("args.schema", "action is begin, commit or rollback");
}

std::string hash_of(const NachosCall& call) {
  return ContentId::of(call.tool + "\n" + json_text(call.arguments)).hex();
}

/// As hash_of(), from what the audit log has of the arguments.
std::string recorded_hash_of(const std::string& tool, const std::string& input) {
  return ContentId::of(tool + "\nrecorded\n" + input).hex();
}

std::string hash_of_action(std::string_view action) {
  return recorded_hash_of(NachosRunner::kTransactionTool,
                          recorded_input(ordered_json{{"action", action}}));
}

std::string recorded_hash_of(const NachosCall& call) {
  if (call.tool == NachosRunner::kTransactionTool) {
    return hash_of_action(text_member(call.arguments, "action"));
  }
  return recorded_hash_of(call.tool, recorded_input(ordered_json(call.arguments)));
}

/// In the book of answers, the session of a commit, which is on record with the session of the
/// transaction. No session of a call begins like this.
std::string key_of_commits(const std::string& session) { return "\n" + session; }

// The results of the tool `transaction`.
ordered_json committed_result(bool has_changes) {
  return {{"result", {{"committed", has_changes}}}};
}
ordered_json rolled_back_result() { return {{"result", {{"rolledBack", true}}}}; }

/// The time of a record, to the second; 0 for a text that is none.
int64_t wall_ns_of(const std::string& time) {
  std::tm parts = {};
  if (strptime(time.c_str(), "%Y-%m-%dT%H:%M:%S", &parts) == nullptr) return 0;
  return std::chrono::nanoseconds(std::chrono::seconds(timegm(&parts))).count();
}

/// The calls that a stored transaction has; none if it does not exist or another process uses it.
std::set<std::string> staged_calls(const StateDirectory& state, const std::string& tx) {
  std::set<std::string> found;
  const auto stage = StoredStage::open(state, tx, std::chrono::milliseconds(0));
  if (!stage) return found;
  const auto steps = stage->load_steps();
  if (!steps) return found;
  for (const StagedStep& step : *steps) found.insert(step.execution_id);
  return found;
}

/// The result of a call whose commit published nothing.
ToolResult not_committed(const CommitOutcome& outcome) {
  const ordered_json told = commit_result(outcome, {});
  ToolError error;
  if (const auto* refused = std::get_if<Refused>(&outcome)) {
    error.code = ToolErrorCode::kPermission;
    error.reason = refused->refusal().reason;
    error.message = refused->refusal().message;
  } else {
    const auto& conflict = std::get<Conflict>(outcome);
    error.reason = conflict.reason;
    error.message = conflict.paths.empty() ? "the files changed meanwhile: read them again"
                                           : conflict.paths.front().message;
  }
  error.details = std::make_shared<const ordered_json>(told["structuredContent"]);
  return ToolResult::failure(std::move(error));
}

/// The manifests of tools that a person added, by the name of the tool.
std::map<std::string, ordered_json> given_manifests(const std::string& root) {
  std::map<std::string, ordered_json> found;
  const auto user = load_user_settings();
  if (!user) return found;
  const auto kept = trusted_tools(*user, root);
  if (!kept) return found;
  for (const TrustedTools& tools : *kept) {
    const auto folder = ToolFolder::read(tools.files);
    if (!folder) continue;
    for (const CustomManifest& manifest : folder->manifests) {
      found.emplace(manifest.info.name, ordered_json::parse(manifest.text, nullptr, false));
    }
  }
  return found;
}

}  // namespace

NachosRunner::NachosRunner(Workspace& workspace, const ToolProfile& profile, NatsConfig config,
                           SecretProvider secrets, const Clock& clock)
    : workspace_(&workspace),
      profile_(&profile),
      shape_(*tool_shape_named("nachos")),
      config_(std::move(config)),
      secrets_(std::move(secrets)),
      clock_(&clock),
      stages_(workspace),
      answers_(clock),
      recalled_(clock) {
  // A session may read in one process of the group and write in another.
  tools_of(workspace).is_shared = true;
}

/// A call counts if its transaction was committed or rolled back, or is stored and has it. The
/// commit of one in memory may have been refused. If a program ran and the call does not count, a
/// second delivery says that it began.
Result<void> NachosRunner::recall() {
  GALLEY_TRY(persistent_of(*workspace_).refresh());
  const StateDirectory* state = persistent_of(*workspace_).state();
  if (state == nullptr) return {};
  const int64_t now_ns = clock_->wall_ns();
  const int64_t age_ns = std::chrono::nanoseconds(AnswerBook::kLast).count();
  GALLEY_ASSIGN(const auto calls, identified_calls(state->root(), rfc3339_utc(now_ns - age_ns)));
  std::map<std::string, std::set<std::string>> staged;
  for (const IdentifiedCall& one : calls) {
    if (one.agent != config_.agent) continue;
    const int64_t age = std::max<int64_t>(0, now_ns - wall_ns_of(one.time));
    if (one.end != IdentifiedCall::End::kNone) {
      keep_end(one, *state, std::chrono::nanoseconds(age));
      continue;
    }
    bool counts = one.has_ended || one.has_no_change;
    if (!counts && !one.tx.empty()) {
      if (!staged.contains(one.tx)) staged[one.tx] = staged_calls(*state, one.tx);
      counts = staged[one.tx].contains(one.execution_id);
    }
    if (!counts && !one.has_begun) continue;
    // Arguments that were hidden in the record cannot be compared.
    const bool is_known = one.input.find("[REDACTED:") == std::string::npos;
    SharedAnswers::Answer answer{is_known ? recorded_hash_of(one.tool, one.input) : std::string()};
    if (counts && !one.output.empty() && (is_known || shared_ != nullptr)) {
      ToolResult result = ToolResult::success(ordered_json::parse(one.output));
      result.meta.duration_ms = one.duration_ms;
      answer.result = json_text(shape_->result(*shape_, one.tool, one.call_id, result));
    }
    if (shared_ != nullptr && answer.result.empty()) continue;
    recalled_.keep(one.session_id, one.call_id, std::move(answer), std::chrono::nanoseconds(age));
  }
  return {};
}

/// Keeps the answer of a commit or a rollback by the tool `transaction`. A killed process may have
/// recorded a rollback without making it: then a second delivery makes it.
void NachosRunner::keep_end(const IdentifiedCall& one, const StateDirectory& state,
                            std::chrono::nanoseconds age) {
  const bool is_commit = one.end == IdentifiedCall::End::kCommit;
  if (!is_commit && (one.output.empty() || StoredStage::look_at(state, one.tx))) return;
  const ToolResult result =
      ToolResult::success(is_commit ? committed_result(true) : ordered_json::parse(one.output));
  const bool is_rollback = *result.data == rolled_back_result();
  recalled_.keep(is_commit ? key_of_commits(one.session_id) : one.session_id, one.call_id,
                 {hash_of_action(is_rollback ? "rollback" : "commit"),
                  json_text(shape_->result(*shape_, kTransactionTool, one.call_id, result))},
                 age);
}

// --- tools ----------------------------------------------------------------------------------

Result<std::vector<ToolInfo>> NachosRunner::served() const {
  GALLEY_ASSIGN(std::vector<ToolInfo> all, workspace_->tools(config_.agent));
  std::erase_if(all, [&](const ToolInfo& info) { return !profile_->shows(info.name); });
  return all;
}

Result<std::map<std::string, std::string>> NachosRunner::subjects() const {
  std::map<std::string, std::string> found = {{kTransactionTool, kTransactionTool}};
  GALLEY_ASSIGN(const std::vector<ToolInfo> all, served());
  for (const ToolInfo& info : all) {
    const auto [at, is_new] = found.emplace(name_without_dots(info.name), info.name);
    if (is_new) continue;
    return fail(ErrorKind::kInvalid, "nats.subject",
                "the tools '" + at->second + "' and '" + info.name +
                    "' would have one subject: disable one of them with [tools.NAME] enabled");
  }
  return found;
}

std::string NachosRunner::manifests() const {
  ordered_json out = ordered_json::array();
  const auto all = served();
  if (!all) return bare_error(all.error().message);
  const auto given = given_manifests(workspace_->root_path());
  for (const ToolInfo& info : *all) {
    const auto own = given.find(info.name);
    out.push_back(own != given.end() ? own->second : shape_->manifest(info));
  }
  return json_text(out);
}

std::string NachosRunner::health(const std::string& tool) const {
  const auto is_shared = shared_ == nullptr ? Result<void>() : shared_->check();
  if (!is_shared) {
    return json_text(ordered_json{{"healthy", false}, {"error", is_shared.error().message}});
  }
  if (tool == kTransactionTool) return json_text(ordered_json{{"healthy", true}});
  const auto status = workspace_->tool_health(tool, config_.agent);
  const bool is_healthy = status && status->healthy;
  ordered_json out = {{"healthy", is_healthy}};
  if (!is_healthy) out["error"] = status ? status->error : status.error().message;
  return json_text(out);
}

std::string NachosRunner::validate(const std::string& tool, std::string_view request) const {
  const auto call = parse(tool, request);
  if (!call) return bare_error(call.error().message);
  std::vector<std::string> errors;
  if (tool == kTransactionTool) {
    const auto flaw = flaw_of_action(text_member(call->arguments, "action"));
    if (flaw) errors.push_back(flaw->message);
  } else {
    const auto found = workspace_->check_call(tool, json_text(call->arguments), config_.agent);
    errors = found ? found->errors : std::vector<std::string>{found.error().message};
  }
  ordered_json out = {{"valid", errors.empty()}};
  if (!errors.empty()) out["errors"] = errors;
  return json_text(out);
}

// --- messages -------------------------------------------------------------------------------

std::string NachosRunner::bare_error(std::string_view message) {
  return json_text(ordered_json{{"success", false},
                                {"error", {{"code", "INTERNAL_ERROR"}, {"message", message}}}});
}

Result<NachosCall> NachosRunner::parse(const std::string& tool, std::string_view request) const {
  JsonLimits limits;
  limits.max_bytes = config_.most_request_bytes;
  GALLEY_ASSIGN(json message, parse_json(request, limits));
  if (message.is_null()) return fail(invalid("nats.request", "a request is an object, not null"));
  NachosCall call;
  call.tool = tool;
  call.correlation = json(json::value_t::discarded);
  call.arguments = json::object();
  if (message.is_object() && message.contains("id")) call.correlation = std::move(message["id"]);
  if (message.is_object() && message.contains("payload") && message["payload"].is_object()) {
    call.arguments = std::move(message["payload"]);
  }
  call.session = text_member(call.arguments, "sessionId");
  call.call_id = text_member(call.arguments, "callId");
  call.arguments.erase("sessionId");
  call.arguments.erase("callId");
  return call;
}

NachosRunner::Payload::Payload(const ordered_json& document)
    : text(json_text(document)),
      outcome(document.at("success").get<bool>() ? "ok"
                                                 : text_member(document.at("error"), "code")) {}

/// Written as text, so that a large payload is not copied into another document.
std::string NachosRunner::envelope(const NachosCall& call, std::string_view payload) const {
  constexpr size_t kUsualHead = 256;
  std::string out;
  out.reserve(payload.size() + kUsualHead);
  out.append(R"({"id":")").append(new_uuid());
  out.append(R"(","timestamp":")").append(rfc3339_utc(clock_->wall_ns()));
  out.append(R"(","source":)");
  append_json_text(out, call.tool);
  out += R"(,"type":"tool.response")";
  if (!call.correlation.is_discarded()) {
    out.append(R"(,"correlationId":)").append(json_text(call.correlation));
  }
  return out.append(R"(,"payload":)").append(payload).append("}");
}

ordered_json NachosRunner::payload_of(const NachosCall& call, const ToolResult& result) const {
  return shape_->result(*shape_, call.tool, call.call_id, result);
}

ordered_json NachosRunner::payload_of(const NachosCall& call, const Error& error) const {
  return payload_of(call, failure(error));
}

std::string NachosRunner::refusal(const NachosCall& call, const Error& error) const {
  return envelope(call, json_text(payload_of(call, error)));
}

bool NachosRunner::has_ids(const NachosCall& call) {
  return is_id(call.session) && is_id(call.call_id);
}

std::string NachosRunner::answer(const NachosCall& call, const std::stop_token& stop) {
  const Telemetry::Work work(telemetry_);
  const Payload payload = answered(call, stop);
  work.end({payload.outcome,
            payload.outcome != "ok",
            call.session.empty() ? "" : session_of_door(kDoor, call.session),
            {{"galley.tool", call.tool},
             {"galley.session", call.session},
             {"galley.call", call.call_id},
             {"galley.agent", config_.agent}}});
  return envelope(call, payload.text);
}

NachosRunner::Payload NachosRunner::answered(const NachosCall& call, const std::stop_token& stop) {
  if (!has_ids(call)) {
    return payload_of(call, invalid("nats.call_id",
                                    "sessionId and callId are texts of 1 to 128 printable ASCII "
                                    "characters"));
  }
  const std::string hash = hash_of(call);
  auto earlier = answers_.find(call.session, call.call_id);
  if (!earlier && shared_ != nullptr) {
    auto begun = shared_->begin(call.session, call.call_id, hash, stop);
    if (!begun) return payload_of(call, begun.error());
    earlier = *std::move(begun);
    // The process that began it may have died after the commit.
    if (earlier && earlier->result.empty()) {
      auto told = recalled(call);
      if (told) earlier->result = std::move(told->result);  // the shared hash is exact
    }
  } else if (!earlier) {
    earlier = find_recalled(call);
  }
  if (earlier) return repeated(call, hash, *earlier);
  const ToolResult result = make(call, stop);
  const Payload payload = payload_of(call, result);
  if (has_done_nothing(call, result)) {
    if (shared_ != nullptr) shared_->forget(call.session, call.call_id);
    return payload;
  }
  const SharedAnswers::Answer made{hash, payload.text};
  if (shared_ != nullptr) shared_->keep(call.session, call.call_id, made);
  answers_.keep(call.session, call.call_id, made);
  return payload;
}

std::optional<SharedAnswers::Answer> NachosRunner::find_recalled(const NachosCall& call) {
  auto found = recalled_.find(call.session, call.call_id);
  if (found) return found;
  return recalled_.find(key_of_commits(session_of_door(kDoor, call.session)), call.call_id);
}

/// The answer that the audit log has, if the shared answers know only that the call began.
std::optional<SharedAnswers::Answer> NachosRunner::recalled(const NachosCall& call) {
  const std::lock_guard guard(recall_mutex_);
  auto found = find_recalled(call);
  if (!found && clock_->steady() >= next_recall_) {
    const bool is_read = recall().has_value();
    next_recall_ = clock_->steady() + kRecallEvery;
    if (is_read) found = find_recalled(call);
  }
  // The ids may be those of an older call.
  if (found && !found->call.empty() && found->call != recorded_hash_of(call)) return std::nullopt;
  return found;
}

/// Whether a call failed before it did anything: then a second delivery of it may run.
bool NachosRunner::has_done_nothing(const NachosCall& call, const ToolResult& result) const {
  if (!result.error) return false;
  const std::string& reason = result.error->reason;
  if (reason == "call.cancelled") {
    // A call that was cancelled stages nothing, but its program may have run.
    const auto info = workspace_->tool(call.tool, config_.agent);
    return info && !info->annotations.open_world;
  }
  return reason == "limit.rate" || reason == "limit.tool_queue" || reason == "nats.transactions" ||
         reason == "tool.queue_timeout";
}

/// The payload for a call whose ids were used before.
NachosRunner::Payload NachosRunner::repeated(const NachosCall& call, const std::string& hash,
                                             const SharedAnswers::Answer& earlier) const {
  const bool is_same = earlier.call == hash || earlier.call.empty() ||  // empty: it is not known
                       earlier.call == recorded_hash_of(call);
  if (!is_same) {
    return payload_of(call, invalid("nats.call_id",
                                    "callId '" + call.call_id +
                                        "' was already used in this session for a call with other "
                                        "parameters: give each call its own"));
  }
  if (earlier.result.empty()) {
    return payload_of(call,
                      Error{ErrorKind::kIo, "nats.outcome_unknown",
                            "this call began in a process that has not told its result: read the "
                            "files, then make another call",
                            "", 0});
  }
  ordered_json payload = ordered_json::parse(earlier.result);
  payload["metadata"]["cached"] = true;
  return payload;
}

// --- calls ----------------------------------------------------------------------------------

TransactionOptions NachosRunner::options_of(const std::string& session) const {
  TransactionOptions options;
  options.agent = config_.agent;
  options.message = "Nachos session " + session;
  options.session = session_of_door(kDoor, session);
  return options;
}

/// The open transaction of a session; empty if it has none.
Result<std::string> NachosRunner::stage_of(const std::string& session) {
  return stages_.find(config_.agent, session_of_door(kDoor, session));
}

Result<std::string> NachosRunner::begin(const std::string& session) {
  GALLEY_ASSIGN(const size_t open, stages_.count());
  if (open >= kMostTransactions) {
    return fail(
        ErrorKind::kQuota, "nats.transactions",
        std::to_string(open) + " transactions are open in this workspace: commit or drop some");
  }
  GALLEY_ASSIGN(Transaction begun, workspace_->begin_stored(options_of(session)));
  // Of several processes that begin at once, the oldest transaction is the session's.
  GALLEY_ASSIGN(std::string id, stage_of(session));
  if (id == begun.id()) return id;
  GALLEY_TRY(begun.rollback());
  if (!id.empty()) return id;
  return fail(ErrorKind::kNotFound, "stage.not_found",
              "the new transaction of the session cannot be read back: begin it again");
}

ToolResult NachosRunner::call_in(Transaction& transaction, const NachosCall& call,
                                 const std::stop_token& stop) const {
  CallOptions options;
  options.session_id = call.session;
  options.call_id = call.call_id;
  options.secrets = secrets_;
  options.stop = stop;
  ToolCall one;
  one.tool = call.tool;
  one.args = std::make_shared<const json>(call.arguments);
  return inner(transaction).call_recorded(std::move(one), options);
}

/// Commits what a call staged. Its result counts only if that is on disk.
ToolResult NachosRunner::committed(Transaction& transaction, const CommitRequest& request,
                                   ToolResult result) {
  const auto outcome = transaction.commit(request);
  if (!outcome) return failure(outcome.error());
  if (const auto* receipt = std::get_if<Receipt>(&*outcome)) {
    auto& warnings = result.meta.warnings;
    warnings.insert(warnings.end(), receipt->warnings.begin(), receipt->warnings.end());
    return result;
  }
  if (std::holds_alternative<NothingToCommit>(*outcome)) return result;
  ToolResult failed = not_committed(*outcome);
  failed.meta = std::move(result.meta);
  return failed;
}

ToolResult NachosRunner::make(const NachosCall& call, const std::stop_token& stop) {
  if (call.tool == kTransactionTool) return make_transaction_call(call);
  auto stage = stage_of(call.session);
  if (!stage) return failure(stage.error());
  if (stage->empty() && config_.commit == CommitRule::kSession) {
    const auto info = workspace_->tool(call.tool, config_.agent);
    if (info && !info->annotations.read_only) stage = begin(call.session);
    if (!stage) return failure(stage.error());
  }
  if (!stage->empty()) {
    auto resumed = workspace_->resume(*stage, config_.agent);
    if (!resumed) return failure(resumed.error());
    ToolResult result = call_in(*resumed, call, stop);
    if (const auto saved = resumed->save(); !saved) return failure(saved.error());
    return result;
  }
  auto begun = workspace_->begin(options_of(call.session));
  if (!begun) return failure(begun.error());
  ToolResult result = call_in(*begun, call, stop);
  return result.ok ? committed(*begun, {.tool = call.tool}, std::move(result)) : result;
}

ToolResult NachosRunner::make_transaction_call(const NachosCall& call) {
  const std::string action = text_member(call.arguments, "action");
  if (const auto flaw = flaw_of_action(action)) return failure(*flaw);
  auto id = stage_of(call.session);
  if (!id) return failure(id.error());
  if (action == "begin") {
    if (id->empty()) id = begin(call.session);
    if (!id) return failure(id.error());
    return ToolResult::success({{"result", {{"transaction", *id}}}});
  }
  if (id->empty()) {
    return failure({ErrorKind::kNotFound, "stage.not_found",
                    "the session has no transaction: begin one first", "", 0});
  }
  auto transaction = workspace_->resume(*id, config_.agent);
  if (!transaction) return failure(transaction.error());
  // The record has the result, so that another process can answer a second delivery.
  if (action == "commit" && !transaction->proposal().changes().empty()) {
    return committed(*transaction, {.tool = kTransactionTool, .call_id = call.call_id},
                     ToolResult::success(committed_result(true)));
  }
  CallOptions asked;
  asked.session_id = call.session;
  asked.call_id = call.call_id;
  ToolResult done =
      ToolResult::success(action == "commit" ? committed_result(false) : rolled_back_result());
  const auto dropped = inner(*transaction).rollback(asked, done.data);
  return dropped ? done : failure(dropped.error());
}

}  // namespace galley
