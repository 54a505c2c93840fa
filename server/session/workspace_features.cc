#include "server/session/workspace_features.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "base/printable.h"
#include "base/text.h"
#include "engine/calls/confirmation.h"
#include "engine/calls/executor.h"
#include "engine/pipeline/inner_transaction.h"
#include "engine/pipeline/workspace_state.h"
#include "server/session/call_results.h"
#include "server/session/long_output.h"
#include "staging/overlay/proposal_diff.h"
#include "staging/printing/git_diff.h"
#include "tools/json_input.h"
#include "tools/profiles.h"
#include "tools/shapes.h"
#include "tools/tool.h"

namespace galley {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

/// The current request of the calling thread, for the approver.
thread_local McpRequest* current_request = nullptr;
/// The stored transaction that it commits; empty for any other call.
thread_local std::string current_tx;

class CurrentRequest {
 public:
  CurrentRequest(McpRequest& request, std::string tx) {
    current_request = &request;
    current_tx = std::move(tx);
  }
  ~CurrentRequest() {
    current_request = nullptr;
    current_tx.clear();
  }
  CurrentRequest(const CurrentRequest&) = delete;
  CurrentRequest& operator=(const CurrentRequest&) = delete;
};

constexpr const char* kInstructions =
    "Every change is staged in a transaction and is not on disk before galley_commit, unless its "
    "answer says that it is committed: edit with the tools below, look at galley_diff, then "
    "commit. A commit puts everything on disk in one "
    "step or nothing; when it is refused, the answer names the rule or validator and the place: "
    "fix it and commit again; a conflict is decided with galley_resolve. galley_rollback drops "
    "what is staged, galley_undo takes a commit "
    "back.";

constexpr const char* kAutocommitInstructions =
    "Each call that changes something is judged by policy and validators and committed at once; "
    "one "
    "that is refused leaves no trace. galley_undo takes a commit back.";

/// The connection's own transaction, which may not have begun yet.
constexpr const char* kOwnLane = "own ";
constexpr const char* kBegin = "galley_begin";

/// Some clients add their own member to the arguments of every call.
void drop_client_members(const ToolInfo& info, json& arguments) {
  if (info.input_schema.find("wait_for_previous") == std::string::npos) {
    arguments.erase("wait_for_previous");
  }
}

/// The bytes of a diff in a question to a person.
constexpr size_t kMaxAskedDiff = 6'000;

enum class ClientAnswer : uint8_t {
  kYes,
  kNo,
  kDeclined,  ///< or dismissed, which some clients do by themselves
  kNone,
};

/// Asks the client's user for approval.
/// Errors: kRefused `call.unanswered` before the answer has come.
Result<ClientAnswer> answer_of_client(McpRequest& request, const std::string& key,
                                      std::string text) {
  ordered_json params;
  params["message"] = std::move(text);
  params["requestedSchema"] = {
      {"type", "object"},
      {"properties", {{"approve", {{"type", "boolean"}, {"title", "Approve"}}}}},
      {"required", ordered_json::array({"approve"})}};
  const auto said = request.ask(key, "elicitation/create", std::move(params));
  if (!said) {
    return fail(ErrorKind::kRefused, std::string(kUnanswered), "the client has not answered yet");
  }
  if (!said->is_object()) return ClientAnswer::kNone;
  const std::string action = text_member(*said, "action");
  if (action == "decline" || action == "cancel") return ClientAnswer::kDeclined;
  if (action != "accept") return ClientAnswer::kNone;
  const auto content = said->find("content");
  if (content == said->end() || !content->is_object()) return ClientAnswer::kNone;
  const json approve = content->value("approve", json());
  if (!approve.is_boolean()) return ClientAnswer::kNone;
  return approve.get<bool>() ? ClientAnswer::kYes : ClientAnswer::kNo;
}

bool is_diff_of(std::string_view diff, const std::string& path) {
  const std::string_view head = diff.substr(0, diff.find('\n'));
  return head.starts_with("diff --git " + quote_path("a/" + path) + " ") ||
         head.ends_with(" " + quote_path("b/" + path));
}

/// The printable diff, which begins with the files that a rule asks about.
Result<std::string> asked_diff(const ApprovalQuestion& question) {
  std::set<std::string> asked;
  for (const Finding& finding : question.findings) {
    const auto& all = question.questions;
    if (std::find(all.begin(), all.end(), finding.message) != all.end()) asked.insert(finding.path);
  }
  std::string first;
  std::string rest;
  GALLEY_TRY(render_diff(question.proposed, ProposalDiffOptions(), [&](std::string_view diff) {
    const bool is_asked = std::any_of(asked.begin(), asked.end(), [&](const std::string& path) {
      return is_diff_of(diff, path);
    });
    (is_asked ? first : rest) += diff;
  }));
  return printable(first + rest);
}

/// Another proposal, and another rule that asks, need another answer.
std::string question_key(const ApprovalQuestion& question) {
  std::string asked = question.proposed.id().hex();
  for (const std::string& sentence : question.questions) asked += '\0' + sentence;
  return "approve-" + ContentId::of(asked).hex();
}

/// Returns the text of the question: the rules that ask, the paths, the diff. The agent chose most
/// of it, so no character of it may control what shows the question. Without a stored transaction,
/// `tx` is empty, and no command shows the rest.
Result<std::string> approval_text(const ApprovalQuestion& question, const std::string& tx) {
  std::string text = "This change needs your approval:\n";
  for (const std::string& sentence : question.questions) {
    text += "- " + printable_line(sentence) + "\n";
  }
  text += printable(changes_summary(question.proposed.changes()));
  GALLEY_ASSIGN(const std::string diff, asked_diff(question));
  size_t next = 0;
  text += page_of(diff, 0, next, kMaxAskedDiff);
  if (next == 0) return text;
  return text + "[" + std::to_string(diff.size() - next) + " more bytes" +
         (tx.empty() ? "" : ": galley diff --tx " + printable_line(tx)) + "]\n";
}

}  // namespace

Approver client_approver() {
  return [](const ApprovalQuestion& question) -> Result<ApprovalQuestion::Answer> {
    ApprovalQuestion::Answer answer;
    answer.proposal = question.proposed.id();
    McpRequest* request = current_request;
    if (request == nullptr || !request->client_can("elicitation")) {
      answer.was_asked = false;
      return answer;
    }
    GALLEY_ASSIGN(std::string text, approval_text(question, current_tx));
    GALLEY_ASSIGN(const ClientAnswer said,
                  answer_of_client(*request, question_key(question), std::move(text)));
    answer.is_yes = said == ClientAnswer::kYes;
    answer.was_asked = said != ClientAnswer::kNone;
    answer.by = said == ClientAnswer::kDeclined ? "the client or its user" : "the client's user";
    return answer;
  };
}

WorkspaceFeatures::WorkspaceFeatures(Workspace& workspace, SessionOptions options)
    : workspace_(&workspace),
      options_(std::move(options)),
      open_(workspace, options_.agent,
            options_.is_shared ? OpenTransactions::Own::kNone : OpenTransactions::Own::kOne),
      transaction_tools_(workspace, open_, options_.is_shared),
      stored_tools_(workspace) {
  // A call that is committed at once begins its transaction, so nothing was read in it before.
  tools_of(workspace).is_shared = options_.is_shared && !options_.commits_each_call;
}

McpFeatures::Identity WorkspaceFeatures::identity() const {
  Identity identity;
  identity.name = "galley";
  identity.title = "Galley";
  identity.version = options_.version;
  identity.instructions = options_.commits_each_call ? kAutocommitInstructions : kInstructions;
  return identity;
}

void WorkspaceFeatures::on_change(Changed changed) {
  const std::lock_guard lock(mutex_);
  changed_ = std::move(changed);
}

void WorkspaceFeatures::notify_resource_changed(const std::string& tx) {
  const std::lock_guard lock(mutex_);
  if (!changed_) return;
  changed_("galley://tx/" + tx + "/diff");
  changed_("galley://tx/" + tx + "/status");
  changed_("galley://tx/" + tx + "/files/");
}

void WorkspaceFeatures::notify_list_changed(std::string_view which) {
  const std::lock_guard lock(mutex_);
  if (changed_) changed_(which);
}

void WorkspaceFeatures::refresh_tools() {
  // A tool that cannot be read now is reported when it is called.
  const auto is_new = stored_tools_.refresh();
  if (is_new && *is_new) notify_list_changed(kListOfTools);
}

// --- tools ----------------------------------------------------------------------------------

bool WorkspaceFeatures::is_shown(const ToolInfo& info) const {
  // A tool that was added later must not hide behind one of these.
  if (TransactionTools::has(options_.prefix + info.name)) return false;
  return !options_.tools.empty()       ? options_.tools.contains(info.name)
         : options_.profile != nullptr ? options_.profile->shows(info.name)
                                       : is_shown_without_profile(info.name);
}

std::string WorkspaceFeatures::own_name(const std::string& shown) const {
  return shown.starts_with(options_.prefix) ? shown.substr(options_.prefix.size()) : std::string();
}

Result<std::shared_lock<std::shared_timed_mutex>> WorkspaceFeatures::hold_rules(
    const std::stop_token& stop) {
  constexpr int kMostTries = 100;  // for the calls that still use the old rules
  constexpr std::chrono::milliseconds kEachTry{100};
  PersistentState& persistent = persistent_of(*workspace_);
  const auto is_outdated = [&] {
    return persistent.is_removed() || are_rules_outdated(*workspace_);
  };
  std::shared_lock held(rules_mutex_);
  if (!is_outdated()) return held;
  held.unlock();
  std::unique_lock alone(rules_mutex_, std::defer_lock);
  for (int tries = 0; !alone.try_lock_for(kEachTry); ++tries) {
    if (tries < kMostTries && !stop.stop_requested()) continue;
    return fail(
        ErrorKind::kConflict, "config.changed",
        "galley.toml, the trust in it or .galley changed, and a call that began before still runs "
        "or waits for an answer; call again when it has ended");
  }
  if (is_outdated()) {
    open_.close_all();
    const bool is_removed = persistent.is_removed();
    if (is_removed) persistent.forget_state();
    if (is_removed) open_.note_removed_state();
    GALLEY_ASSIGN(auto notices, read_rules_again(*workspace_));
    if (is_removed) {
      notices.emplace_back(
          "`.galley` was removed while it was in use, with all that was staged and the history: a "
          "new one is made when it is needed");
    }
    if (options_.choose_profile) {
      GALLEY_ASSIGN(options_.profile, options_.choose_profile());
    }
    {
      const std::lock_guard lock(mutex_);
      has_logged_ = true;  // those of the start are about the old rules
      unlogged_ = std::move(notices);
    }
    notify_list_changed(kListOfTools);
  }
  alone.unlock();
  held.lock();
  return held;
}

void WorkspaceFeatures::log_notices(McpRequest& request) {
  std::vector<std::string> notices;
  {
    const std::lock_guard lock(mutex_);
    notices = std::exchange(unlogged_, {});
    if (!std::exchange(has_logged_, true)) {
      notices = workspace_->notices();
      const auto left_out = tools_of(*workspace_).left_out();
      notices.insert(notices.end(), left_out.begin(), left_out.end());
    }
  }
  for (const std::string& notice : notices) request.log("warning", notice);
}

/// Whether `tx` is added to a tool's arguments; not if the tool has its own `tx`.
bool WorkspaceFeatures::takes_tx(const ToolInfo& info) const {
  if (options_.commits_each_call) return false;
  // Most schemas do not contain the word at all.
  return info.input_schema.find("\"tx\"") == std::string::npos ||
         !ordered_json::parse(info.input_schema)["properties"].contains("tx");
}

/// Whether calls are committed unless galley_begin began a transaction. The hook of the session
/// commits each command, so the server does the same: what one of them makes, the other sees.
bool WorkspaceFeatures::commits_by_itself() const {
  return options_.commits_each_call ||
         (open_.is_hooked() && rules_of(*workspace_).config.hook.mode == HookMode::kCommit);
}

/// The definition of a tool for clients.
ordered_json WorkspaceFeatures::shown_tool(const ToolInfo& info) const {
  static const ToolShape& shape = **tool_shape_named("mcp");
  ordered_json tool = shape.definition(info);
  tool["name"] = options_.prefix + info.name;
  if (takes_tx(info)) {
    tool["inputSchema"]["properties"]["tx"] = {{"type", "string"}};
  }
  ordered_json output = std::move(tool["outputSchema"]);
  if (output.contains("properties")) {
    output["properties"]["endedTx"] = {{"type", "string"}};
  }
  if (output.contains("properties") && !info.annotations.read_only) {
    output["properties"]["needsApproval"] = {{"type", "array"}};
    output["properties"]["committed"] = {{"type", "string"}};
    if (options_.is_shared) output["properties"]["tx"] = {{"type", "string"}};
    if (output["properties"].contains("exitCode"))
      output["properties"]["kept"] = {{"type", "string"}};
  }
  tool["outputSchema"] = answer_schema(std::move(output));
  const bool is_held = !commits_by_itself() && !info.annotations.open_world;
  // Staged changes destroy nothing: they can be inspected and dropped.
  tool["annotations"]["destructiveHint"] = !is_held && info.annotations.destructive;
  return tool;
}

std::vector<ordered_json> WorkspaceFeatures::tools() {
  auto present = hold_rules();
  // An error comes again when a tool is called.
  const auto rules = present ? *std::move(present) : std::shared_lock(rules_mutex_);
  refresh_tools();
  std::vector<ordered_json> out;
  const auto infos = workspace_->tools(options_.agent);
  if (!infos) return out;
  for (const ToolInfo& info : *infos) {
    if (is_shown(info)) out.push_back(shown_tool(info));
  }
  for (const ordered_json& tool : TransactionTools::list()) {
    if (!options_.commits_each_call || tool["name"] != kBegin) out.push_back(tool);
  }
  return out;
}

McpAnswer WorkspaceFeatures::call_tool(const std::string& name, const json& arguments,
                                       McpRequest& request) {
  if (const auto here = check_not_moved(place_of(*workspace_)); !here) {
    return failed_result(here.error());
  }
  const auto rules = hold_rules(request.stop());
  if (!rules) return failed_result(rules.error());
  const OpenTransactions::InSession session(request.session());
  const std::string own = open_.own();
  const std::string tx = text_member(arguments, "tx");
  const bool commits = name == "galley_commit";
  const CurrentRequest current(request, !commits ? std::string() : tx.empty() ? own : tx);
  refresh_tools();
  log_notices(request);
  // The question of a commit holds nothing while it is open. Other calls have done a part of their
  // work when they ask, so they wait.
  if (commits) request.come_again();
  McpAnswer answered;
  if (options_.is_shared && tx.empty() && TransactionTools::needs_tx(name)) {
    answered = failed_result({ErrorKind::kUsage, "stage.which",
                              "name the transaction in 'tx', as the call that began it returned "
                              "it: clients without a session share this server",
                              "", 0});
  } else if (options_.commits_each_call && name == kBegin) {
    answered = failed_result({ErrorKind::kUsage, "stage.autocommit",
                              "this server commits each change at once, so there is no "
                              "transaction to begin; galley_undo takes a commit back",
                              "", 0});
  } else if (TransactionTools::has(name)) {
    ordered_json result = transaction_tools_.call(name, arguments, request);
    const std::string& changed = tx.empty() ? own : tx;
    if (TransactionTools::changes_staged(name) && !changed.empty()) {
      notify_resource_changed(changed);
    }
    answered = std::move(result);
  } else if (const auto info = workspace_->tool(own_name(name)); info && is_shown(*info)) {
    answered = call_own(*info, arguments, request);
  } else {
    RpcError unknown = unknown_tool(name);
    record_unknown(name, arguments, unknown, request);
    answered = std::move(unknown);
  }
  // A new or ended transaction changes the resources, and so does a commit.
  const bool may_publish = commits_now({}) || name == "galley_undo";
  const bool may_begin = options_.is_shared && tx.empty();
  if (may_publish || may_begin || open_.own() != own) notify_list_changed({});
  return answered;
}

McpArrival WorkspaceFeatures::arrive(const std::string& method, const json& params) {
  McpArrival arrival;
  if (options_.session) {
    OpenTransactions::AgentSessionName session = options_.session();
    const bool was_hooked = open_.is_hooked();
    open_.work_in(session);
    // The hints of tools say whether calls are only staged.
    if (open_.is_hooked() != was_hooked) notify_list_changed(kListOfTools);
    arrival.session = std::move(session.id);
  }
  const OpenTransactions::InSession session(arrival.session);
  const std::shared_lock rules(rules_mutex_);
  arrival.lane = lane_of(method, params);
  arrival.only_reads = !arrival.lane.empty() && only_reads(text_member(params, "name"));
  return arrival;
}

bool WorkspaceFeatures::only_reads(const std::string& name) const {
  if (TransactionTools::has(name)) return TransactionTools::only_reads(name);
  const auto info = workspace_->tool(own_name(name));
  return info && info->annotations.read_only;
}

std::string WorkspaceFeatures::lane_of(const std::string& method, const json& params) const {
  if (method != "tools/call") return {};
  const std::string name = text_member(params, "name");
  if (name == "galley_log") return {};
  const auto arguments = params.find("arguments");
  const bool has_arguments = arguments != params.end() && arguments->is_object();
  const std::string tx = has_arguments ? text_member(*arguments, "tx") : std::string();
  const std::string own = open_.own();
  const std::string own_lane = kOwnLane + open_.who().session;
  if (!tx.empty()) return tx == own ? own_lane : tx;
  if (options_.is_shared) return {};
  if (!own.empty() || TransactionTools::has(name)) return own_lane;
  return only_reads(name) ? std::string() : own_lane;
}

RpcError WorkspaceFeatures::unknown_tool(const std::string& name) const {
  const auto infos = workspace_->tools(options_.agent);
  if (!infos) return {rpc::kInternalError, infos.error().message};
  std::vector<std::string> names;
  for (const ToolInfo& each : *infos) {
    if (is_shown(each)) names.push_back(options_.prefix + each.name);
  }
  const std::string meant = own_name(name).empty() ? options_.prefix + name : name;
  return {rpc::kInvalidParams,
          "there is no tool named '" + name.substr(0, 64) + "'" + did_you_mean(meant, names)};
}

CallOptions WorkspaceFeatures::call_options(McpRequest& request) const {
  CallOptions options{.secrets = options_.secrets, .stop = request.stop()};
  if (request.client_can("elicitation")) {
    options.confirm = [&request](const CallOptions::Question& question) -> Result<bool> {
      GALLEY_ASSIGN(
          const ClientAnswer said,
          answer_of_client(request, "call-" + question.id,
                           printable(question.why) + "\n" + printable_line(question.tool) + " " +
                               printable(question.arguments.substr(0, kMaxResultText))));
      return said == ClientAnswer::kYes;
    };
  }
  // Lines of output count as progress, because their total is unknown.
  options.logger = [&request, lines = 0.0](const CallOptions::Log& log) mutable {
    lines += 1;
    request.progress(lines, {}, log.text.substr(0, 200));
  };
  return options;
}

namespace {

/// Shortens long outputs, and keeps them with the transaction for galley_output. An output that
/// cannot be kept is only shortened. Returns whether one is kept.
bool keep_middle_of_outputs(Transaction& transaction, ToolResult& called) {
  const std::string execution = called.meta.execution_id;
  bool is_kept = false;
  for (const CutOutput& cut : cut_outputs(called)) {
    is_kept |= inner(transaction).keep_output({execution, cut.stream}, cut.whole).has_value();
  }
  if (is_kept) name_kept_outputs(called, execution);
  return is_kept;
}

/// The arguments come from a message, so they were parsed as strictly as those of a call.
ToolCall call_of(std::string tool, json arguments) {
  ToolCall call;
  call.tool = std::move(tool);
  call.args = std::make_shared<const json>(std::move(arguments));
  return call;
}

/// The paths that a call changed, as its result names them.
std::vector<std::string> changed_by(const ToolResult& called) {
  std::vector<std::string> paths;
  if (!called.ok || called.data == nullptr || !called.data->contains("changes")) return paths;
  for (const ordered_json& change : (*called.data)["changes"]) {
    paths.push_back(text_member(change, "path"));
  }
  return paths;
}

}  // namespace

/// Whether a call that names this transaction is committed at its end.
bool WorkspaceFeatures::commits_now(const std::string& tx) {
  if (options_.commits_each_call) return true;
  return tx.empty() && commits_by_itself() && !open_.has_own();
}

ordered_json WorkspaceFeatures::call_own(const ToolInfo& info, json arguments,
                                         McpRequest& request) {
  drop_client_members(info, arguments);
  std::string tx;
  if (const auto named = arguments.find("tx"); named != arguments.end() && takes_tx(info)) {
    if (!named->is_string() || named->get_ref<const std::string&>().empty()) {
      return failed_result({ErrorKind::kInvalid, "args.schema",
                            "'tx' is the id of a transaction, as galley_begin returns it", "", 0});
    }
    tx = named->get<std::string>();
    arguments.erase(named);
  }
  if (commits_now(tx) && !info.annotations.read_only) {
    return call_and_commit(info, std::move(arguments), request);
  }
  // Reading does not begin a transaction. What is committed at once begins at the disk.
  const bool only_reads = info.annotations.read_only;
  const bool reads_disk = options_.commits_each_call || open_.own().empty();
  if (only_reads && tx.empty() && reads_disk) {
    auto view = workspace_->begin(open_.who());
    if (!view) return failed_result(view.error());
    const ToolCall call = call_of(info.name, std::move(arguments));
    const auto called = inner(*view).call_all({call}, call_options(request));
    return tool_call_result(called.front(), info, {});
  }
  auto lent = open_.lend(tx);
  if (!lent) return failed_result(lent.error());
  const std::string id = (*lent)->id();
  ToolCall call = call_of(info.name, std::move(arguments));
  ToolResult called = inner(**lent).call_recorded(std::move(call), call_options(request));
  const bool keeps_output = keep_middle_of_outputs(**lent, called);
  const auto questions = inner(**lent).questions_about(changed_by(called));
  const bool begun = options_.is_shared && tx.empty();
  const bool has_left = begun && request.stop().stop_requested();
  // Nobody could name the transaction that a failed call began, or would name an empty one.
  const bool is_lost =
      begun && (!called.ok || has_left || (!keeps_output && (*lent)->proposal().changes().empty()));
  const bool comes_again = !called.ok && called.error->reason == kUnanswered;
  if (keeps_output || comes_again) lent->keep_empty();
  if (is_lost) (void)(*lent)->rollback();
  if (const auto saved = lent->give_back(is_lost); !saved) return failed_result(saved.error());
  if (has_left && called.ok) return failed_result(call_cancelled());
  const bool has_tx = !only_reads && !is_lost;
  if (!only_reads) notify_resource_changed(id);
  ordered_json result = tool_call_result(called, info, has_tx ? id : std::string(), questions);
  if (options_.is_shared && called.ok && has_tx) result["structuredContent"]["tx"] = id;
  if (!lent->ended().empty()) {
    tell_ended(lent->ended(), lent->ended_how() + "; this call began another", result);
  }
  return result;
}

/// Records the call of a tool that is not shown. The answer is an error in any case.
void WorkspaceFeatures::record_unknown(const std::string& name, const json& arguments,
                                       const RpcError& why, McpRequest& request) const {
  auto view = workspace_->begin(open_.who());
  if (!view) return;
  ToolCall call = call_of(name, arguments);
  call.flaw = Error{ErrorKind::kUsage, "tool.unknown", why.message, "", 0};
  (void)inner(*view).call_all({std::move(call)}, call_options(request));
}

ordered_json WorkspaceFeatures::call_and_commit(const ToolInfo& info, json arguments,
                                                McpRequest& request) {
  TransactionOptions who = open_.who();
  who.stop = request.stop();
  auto transaction = workspace_->begin(who);
  if (!transaction) return failed_result(transaction.error());
  ToolCall call = call_of(info.name, std::move(arguments));
  ToolResult called = inner(*transaction).call_recorded(std::move(call), call_options(request));
  std::vector<CutOutput> cut = cut_outputs(called);
  if (!cut.empty()) name_kept_outputs(called, called.meta.execution_id);
  for (CutOutput& one : cut) {
    transaction_tools_.keep_output(called.meta.execution_id, std::move(one));
  }
  ordered_json result = tool_call_result(called, info, {});
  if (!called.ok) return result;
  const auto outcome = transaction->commit({.tool = info.name});
  if (!outcome) return failed_result(outcome.error());
  if (std::holds_alternative<NothingToCommit>(*outcome)) return result;
  ordered_json committed = commit_result(*outcome, {});
  const auto* receipt = std::get_if<Receipt>(&*outcome);
  if (receipt == nullptr) return committed;
  transaction_tools_.note_commit(receipt->id);
  request.answer_always();
  // The tool's answer stays, after the result of the commit.
  const std::string text = committed["content"][0]["text"].get<std::string>() +
                           result["content"][0]["text"].get<std::string>();
  result["content"][0]["text"] = text;
  result["structuredContent"]["committed"] = receipt->id.str();
  result["_meta"]["galley/commit"] = committed["structuredContent"]["id"];
  return result;
}

}  // namespace galley
