#include <unistd.h>
#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <nlohmann/json.hpp>
#include <stop_token>
#include <thread>

#include "base/printable.h"
#include "base/shell_word.h"
#include "cli/agent_processes.h"
#include "cli/commands.h"
#include "cli/made_edits.h"
#include "cli/places.h"
#include "engine/commit/outcome.h"
#include "engine/pipeline/agent_session.h"
#include "engine/pipeline/decide.h"
#include "engine/pipeline/place.h"
#include "engine/pipeline/transaction_state.h"
#include "engine/pipeline/trust.h"
#include "engine/policy/policy.h"
#include "server/agents/agent_needs.h"
#include "server/agents/agent_programs.h"
#include "server/agents/agent_tools.h"
#include "server/agents/hooked_call.h"
#include "server/session/call_results.h"
#include "server/session/transaction_tools.h"
#include "staging/fs/disk_directory.h"
#include "staging/fs/host_file.h"
#include "staging/sandbox/host_folders.h"
#include "staging/sandbox/sandbox_probe.h"
#include "tools/json_input.h"

namespace galley {
namespace {

/// Every agent treats this status as a no, with the reason on standard error. Any other status
/// except 0 means a broken hook to them, and they allow the call.
constexpr int kDenied = 2;

/// The environment variable `GALLEY_HOOK_TIMEOUT`, in seconds, can shorten kMaxHookTime.
std::chrono::seconds hook_time() {
  const char* said = std::getenv("GALLEY_HOOK_TIMEOUT");
  const int seconds = said == nullptr ? 0 : std::atoi(said);
  return seconds > 0 ? std::min(std::chrono::seconds(seconds), kMaxHookTime) : kMaxHookTime;
}

/// Cancels the judgement after the time limit. A little later it ends the process with a no, so
/// that the agent gets an answer before its own timeout, even if something hangs.
class HookTimer {
 public:
  HookTimer() : thread_([this](const std::stop_token& over) { watch(over); }) {}
  /// Requested after the time limit.
  [[nodiscard]] std::stop_token late() const { return late_.get_token(); }
  /// The request reports a call that was made, so that nothing can be denied any more.
  void expect_report() { is_report_ = true; }

 private:
  void watch(const std::stop_token& over) {
    std::unique_lock lock(mutex_);
    wake_.wait_for(lock, over, hook_time(), [] { return false; });
    if (over.stop_requested()) return;
    late_.request_stop();
    wake_.wait_for(lock, over, kHookGraceTime, [] { return false; });
    if (over.stop_requested()) return;
    std::fputs(is_report_ ? "galley agent-hook did not finish in time, so this is not on record\n"
                          : "galley agent-hook did not finish in time, so the call is denied\n",
               stderr);
    std::_Exit(is_report_ ? kExitNo : kDenied);
  }

  std::stop_source late_;
  std::atomic<bool> is_report_ = false;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::jthread thread_;
};

extern "C" void deny_on_fault(int /*signal*/) { std::_Exit(kDenied); }

/// A crash must not count as a yes.
void deny_on_faults() {
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) {
    std::signal(signal, deny_on_fault);
  }
  std::signal(SIGPIPE, SIG_IGN);
}

/// Reads all input: an agent that cannot write its whole request may treat the hook as broken.
Result<std::string> read_request() {
  auto text = read_host_file("-", kMaxHookBytes);
  std::array<char, size_t{1} << 16U> rest{};
  if (!text) {
    while (std::fread(rest.data(), 1, rest.size(), stdin) > 0) {
    }
  }
  return text;
}

/// Returns the directory where a call starts: the agent's, or the one that the call names.
Result<std::string> start_of(const HookRequest& request, const std::string& directory) {
  std::string path = request.cwd.empty() ? "." : request.cwd;
  if (directory.starts_with('/')) {
    path = directory;
  } else if (!directory.empty()) {
    path += "/" + directory;
  }
  return absolute_path(path);
}

/// Resolves links in the paths below the agent's directory. An agent that was started through a
/// link uses the link's name, but Galley compares names.
Result<nlohmann::json> with_plain_paths(const nlohmann::json& arguments, const std::string& cwd) {
  nlohmann::json plain = arguments;
  if (cwd.empty()) return plain;
  GALLEY_ASSIGN(const std::string real, absolute_path(cwd));
  for (const char* name : {"file_path", "path", "source", "destination"}) {
    const auto found = plain.find(name);
    if (found == plain.end() || !found->is_string()) continue;
    const std::string path = found->get<std::string>();
    if (path.starts_with(cwd + "/")) *found = real + path.substr(cwd.size());
  }
  return plain;
}

/// Checks that the command starts in the workspace that judges and stages it.
Result<void> check_start(const Session& session, const Workspace& workspace,
                         const std::string& start) {
  GALLEY_ASSIGN(const FoundRoot root, find_root(start, session.user().config));
  if (root.path == workspace.root_path()) return {};
  return fail(ErrorKind::kRefused, "hook.outside",
              "it starts in '" + start + "', which does not belong to the workspace '" +
                  workspace.root_path() + "' that this hook judges; start it from there");
}

std::string text_of(const nlohmann::ordered_json& result) {
  return result["content"][0]["text"].get<std::string>();
}

/// Returns the objection of the gate to the edited tree; empty if there is none.
Result<std::string> verdict_on_edit(Session& session, Workspace& workspace,
                                    Transaction& transaction, const std::stop_token& late) {
  const auto preview = transaction.preview();
  if (!preview && late.stop_requested()) {
    return std::string(
        "the validators did not finish within the time of a hook, so the call is denied; stage the "
        "change with galley call and commit it with galley commit, where validators may take "
        "longer");
  }
  if (!preview) return fail(preview.error());
  for (const Change& change : preview->proposal.changes()) {
    if (!may_name_another_file(change.path.str())) continue;
    return "the path '" + change.path.str() +
           "' has a part '~', or white space at an end of a part, which agents read differently; "
           "name the file by another path";
  }
  if (preview->verdict.is_approved()) return std::string();
  GALLEY_TRY(
      record_refused_look(workspace, *preview, transaction.options(), session.arguments().command));
  return verdict_summary(preview->verdict);
}

/// Returns the message about a file that Galley guessed for a name in the edit; empty if there is
/// none. The agent's own tool would use the name as written.
std::string guessed_file(const nlohmann::ordered_json& answer) {
  const auto report = answer.find("report");
  if (report == answer.end() || !report->contains("leniencies")) return {};
  for (const nlohmann::ordered_json& leniency : (*report)["leniencies"]) {
    if (text_member(leniency, "rule") != "file_guessed") continue;
    return text_member(leniency, "message") + "; name that file by its whole path";
  }
  return {};
}

/// Keeps both sides of an edit, to record it after the call. An edit that cannot be recorded is
/// made all the same: the agent could make it without this hook.
void keep_edit(Session& session, Workspace& workspace, const HookRequest& request,
               const Proposal& proposal) {
  if (proposal.is_empty()) return;
  const auto ensured = persistent_of(workspace).ensure();
  CommitMeta meta;
  meta.agent = session.arguments().global.agent;
  meta.tool = first_words(request.tool, kMaxPromptBytes);
  meta.message = session.transaction_options().message;
  meta.session = request.session;
  const auto kept = ensured ? AgentSession(*persistent_of(workspace).state(), request.session)
                                  .keep_edit(AgentSession::edit_of(request.call()), proposal, meta,
                                             place_of(workspace).clock().wall_ns())
                            : fail(ensured.error());
  if (!kept) session.say("this edit will not be on record: " + kept.error().message);
}

/// With `hook.mode = "stage"` the agent's own tools do not see what its commands staged. Returns
/// the message about the first of the paths that has such changes; empty if none has.
Result<std::string> staged_by_commands(const Session& session, const HookRequest& request,
                                       Workspace& workspace, const std::vector<RelPath>& paths) {
  if (rules_of(workspace).config.hook.mode != HookMode::kStage) return std::string();
  const std::string& agent = session.arguments().global.agent;
  GALLEY_ASSIGN(const std::string id, transaction_of_session(workspace, agent, request.session));
  if (id.empty()) return std::string();
  GALLEY_ASSIGN(const Transaction staged, workspace.resume(id, agent));
  const Overlay::Entries& entries = overlay_of(staged).entries();
  for (const RelPath& path : paths) {
    const auto entry = entries.find(path);
    if (entry == entries.end() || entry->second.before == entry->second.now) continue;
    return "'" + path.str() + "' has changes that your commands staged in transaction " + id +
           " and that this tool does not see; ";
  }
  return std::string();
}

/// Two versions of one file could not both be committed.
Result<std::string> objection_to_staged_path(const Session& session, const HookRequest& request,
                                             Workspace& workspace, const Proposal& edit) {
  std::vector<RelPath> paths;
  for (const Change& change : edit.changes()) paths.push_back(change.path);
  GALLEY_ASSIGN(const std::string staged, staged_by_commands(session, request, workspace, paths));
  if (staged.empty()) return staged;
  return staged + "change it with a command, or commit them first: galley commit";
}

/// The agent would read the text that its commands have changed.
Result<std::string> objection_to_read(Session& session, const HookRequest& request) {
  const std::string named = read_path(request);
  if (named.empty()) return named;
  GALLEY_ASSIGN(Workspace * workspace, session.open());
  GALLEY_ASSIGN(const std::string start, start_of(request, ""));
  GALLEY_ASSIGN(const nlohmann::json plain, with_plain_paths({{"path", named}}, request.cwd));
  std::string path = plain["path"].get<std::string>();
  if (!path.starts_with('/')) path.insert(0, start + "/");
  GALLEY_ASSIGN(const RelPath file, named_path(path, RelPath::root(), workspace->root_path()));
  GALLEY_ASSIGN(const std::string staged, staged_by_commands(session, request, *workspace, {file}));
  if (staged.empty()) return staged;
  return staged + "read it with a command: cat " + shell_word(named);
}

/// Whether Claude Code edits a plan that it keeps for its person, outside of the workspace at
/// `root`. A link below its own folder could lead elsewhere.
bool is_own_plan(const HookRequest& request, const std::string& agent, const std::string& root) {
  const auto named = request.input.find("file_path");
  if (agent != "claude" || named == request.input.end() || !named->is_string()) return false;
  const std::string path = named->get<std::string>();
  const std::string own = agent_needs(*agent_of_program(agent), home_folder()).writable.front();
  const auto real = absolute_path(own);
  const auto folder = real ? open_disk_directory(*real) : fail(real.error());
  if (!folder || may_name_another_file(path)) return false;
  const std::string& spelled = path.starts_with(own + "/") ? own : *real;
  if (!path.starts_with(spelled + "/plans/")) return false;
  const auto file = RelPath::parse(path.substr(spelled.size() + 1));
  const bool is_plain = file && path == spelled + "/" + file->str();
  if (!is_plain || is_at_or_below(*real + "/" + file->str(), root)) return false;
  for (RelPath at = *file; !at.is_root(); at = at.parent()) {
    const auto there = (*folder)->stat(at);
    const auto wanted = at == *file ? FileKind::kRegular : FileKind::kDirectory;
    if (!there || (there->kind != FileKind::kAbsent && there->kind != wanted)) return false;
  }
  return true;
}

/// Makes the edit in memory and asks the gate. Returns its objection; empty if there is none.
Result<std::string> objection_to(Session& session, const HookRequest& request,
                                 const HookedCall::Edit& edit, const std::stop_token& late) {
  GALLEY_ASSIGN(Workspace * workspace, session.open());
  GALLEY_ASSIGN(const std::string start, start_of(request, edit.directory));
  GALLEY_TRY(check_start(session, *workspace, start));
  TransactionOptions who = session.transaction_options();
  who.stop = late;
  GALLEY_ASSIGN(Transaction transaction, workspace->begin(who));
  const CallOptions call{
      .call_id = request.call_id, .session_id = request.session, .cwd = start, .stop = late};
  GALLEY_ASSIGN(const nlohmann::json arguments, with_plain_paths(edit.arguments, request.cwd));
  const CallResult result = transaction.call(edit.tool, json_text(arguments), call);
  if (!result) {
    ToolError error = *result.result().error;
    const AgentTool* tool = agent_tool(request, session.arguments().agents.file_servers);
    if (tool != nullptr) correct_for_agent(*tool, request.input, error);
    return text_of(failed_result(error));
  }
  if (const std::string guess = guessed_file(*result.result().data); !guess.empty()) return guess;
  GALLEY_ASSIGN(std::string objection,
                objection_to_staged_path(session, request, *workspace, transaction.proposal()));
  if (!objection.empty()) return objection;
  GALLEY_ASSIGN(objection, verdict_on_edit(session, *workspace, transaction, late));
  if (objection.empty()) {
    keep_edit(session, *workspace, request, transaction.proposal());
  };
  return objection;
}

/// Records an edit that the agent made. Returns what the model must know; usually nothing.
Result<std::string> record_reported_edit(Session& session, const HookRequest& request) {
  if (agent_tool(request, session.arguments().agents.file_servers) == nullptr) return std::string();
  GALLEY_ASSIGN(Workspace * workspace, session.open());
  const StateDirectory* state = persistent_of(*workspace).state();
  if (state == nullptr) return std::string();
  const AgentSession agent(*state, request.session);
  return record_edit({session, *workspace, agent}, AgentSession::edit_of(request.call()),
                     AgentSession::EditReport::kCame);
}

/// Returns the state for notes about a session; null in a folder that is no workspace yet. A
/// `.galley` there would make it the workspace of all folders below it.
Result<const StateDirectory*> state_for_notes(Session& session) {
  GALLEY_ASSIGN(Workspace * workspace, session.open());
  PersistentState& persistent = persistent_of(*workspace);
  if (persistent.state() == nullptr) {
    GALLEY_ASSIGN(const FoundRoot root, find_root(workspace->root_path(), session.user().config));
    if (!root.is_marked) return static_cast<const StateDirectory*>(nullptr);
    GALLEY_TRY(persistent.ensure());
  }
  return persistent.state();
}

/// Tells the agent's `galley mcp`, which is below the same process, in which session it works.
Result<void> note_agent(Session& session, const HookRequest& request) {
  const auto agent = request.session.empty() ? std::nullopt : calling_agent();
  if (!agent) return {};
  GALLEY_ASSIGN(const StateDirectory* state, state_for_notes(session));
  if (state != nullptr) return AgentSession(*state, request.session).note_process(*agent);
  GALLEY_ASSIGN(const Workspace* workspace, session.open());
  return AgentSession::note_first_process(workspace->root_path(), request.session, *agent);
}

/// Records the edits of the ending turn that the agent made and did not report, because it was
/// stopped between. A failure must not keep the turn from its end.
void settle_missed_edits(Session& session, const HookRequest& request,
                         const StateDirectory& state) {
  const AgentSession agent(state, request.session);
  if (agent.kept_edits().empty()) return;
  const auto workspace = session.open();
  const auto settled = workspace ? settle_edits({session, **workspace, agent}, MissedEdits::kClear)
                                 : fail(workspace.error());
  if (!settled) session.say(settled.error().message);
}

/// Begins a turn of the agent's session. Without a session there is nothing that could be grouped.
Result<void> begin_turn(Session& session, const HookRequest& request) {
  if (request.session.empty()) return {};
  GALLEY_ASSIGN(const StateDirectory* state, state_for_notes(session));
  if (state == nullptr) {
    GALLEY_ASSIGN(const Workspace* workspace, session.open());
    GALLEY_TRY(
        AgentSession::note_first_turn(workspace->root_path(), request.session, request.prompt));
    return note_agent(session, request);
  }
  settle_missed_edits(session, request, *state);
  GALLEY_TRY(AgentSession(*state, request.session).begin_turn(request.prompt));
  return note_agent(session, request);
}

/// Ends the turn of the agent's session, where one is known.
Result<void> end_turn(Session& session, const HookRequest& request) {
  if (request.session.empty()) return {};
  GALLEY_ASSIGN(Workspace * workspace, session.open());
  const StateDirectory* state = persistent_of(*workspace).state();
  if (state == nullptr) {
    return AgentSession::forget_first_turn(workspace->root_path(), request.session);
  }
  settle_missed_edits(session, request, *state);
  return AgentSession(*state, request.session).end_turn();
}

/// Takes a report of a call that the agent has made. It cannot be denied any more, so a failure is
/// only a warning.
void note_report(Session& session, const HookRequest& request) {
  Result<std::string> words = std::string();
  if (request.event == HookEvent::kAfter) words = record_reported_edit(session, request);
  Result<void> noted;
  if (request.event == HookEvent::kPrompt) noted = begin_turn(session, request);
  if (request.event == HookEvent::kEnd) noted = end_turn(session, request);
  if (!noted) words = fail(noted.error());
  const bool is_silent = words ? words->empty() : request.event != HookEvent::kAfter;
  if (!words && is_silent) session.terminal().print_error(printable(words.error().message));
  session.print(is_silent
                    ? hook_allows(request.protocol)
                    : hook_reports(request.protocol,
                                   session.with_hints(words ? *words : words.error().message)));
}

/// What the workspace's configuration says about the commands of the agent.
Result<CommandSettings> command_settings(Session& session) {
  GALLEY_ASSIGN(Workspace * workspace, session.open());
  GALLEY_TRY(rules_of(*workspace).refresh_grants(persistent_of(*workspace)));
  const Config& config = rules_of(*workspace).config;
  const Principals agent(session.arguments().global.agent);
  CommandSettings settings;
  settings.is_staged = config.hook.mode == HookMode::kStage;
  settings.drops_on_failure = config.hook.drop_on_failure;
  settings.has_network = config.sandbox.allows_network &&
                         Policy(config).judge_network(agent).decision == Decision::kAllow;
  return settings;
}

/// Returns the absolute path of this program: login shells of agents have their own PATH.
StagedProgram staged_program(Session& session, const HookRequest& request) {
  const auto self = absolute_path("/proc/self/exe");
  // Agents write their commands for bash.
  const bool has_bash = ::access("/bin/bash", X_OK) == 0;
  return {self ? *self : "galley", session.arguments().global.agent, request.session,
          has_bash ? "bash" : "sh", [&session] { return command_settings(session); }};
}

/// Whether `galley mcp` offers a tool, by the name that agents use.
Result<bool> is_offered(Session& session, std::string_view name) {
  if (TransactionTools::has(name)) return true;
  GALLEY_ASSIGN(const Workspace* workspace, session.open());
  GALLEY_ASSIGN(const auto tools, workspace->tools());
  return std::any_of(tools.begin(), tools.end(), [name](const ToolInfo& tool) {
    return std::equal(
        name.begin(), name.end(), tool.name.begin(), tool.name.end(), [](char spelled, char own) {
          const bool is_kept =
              std::isalnum(static_cast<unsigned char>(own)) != 0 || own == '_' || own == '-';
          return spelled == own || (spelled == '_' && !is_kept);
        });
  });
}

/// Decides about a tool of another MCP server by its capability. Without a rule a person decides:
/// at the prompt of an agent that can be told to ask, or else with `galley grant`.
Result<std::string> answer_to_foreign(Session& session, const HookRequest& request,
                                      const Error& unknown) {
  const std::string capability = foreign_capability(request);
  const std::string& agent = session.arguments().global.agent;
  if (unknown.reason != "hook.unknown_tool" || capability.empty() || agent.empty()) {
    return fail(unknown);
  }
  GALLEY_ASSIGN(Workspace * workspace, session.open());
  GALLEY_TRY(rules_of(*workspace).refresh_grants(persistent_of(*workspace)));
  const Policy policy(rules_of(*workspace).config);
  const Judgement judgement = policy.judge_capability(capability, Principals(agent));
  if (judgement.decision == Decision::kAllow) return hook_allows(request.protocol);
  // A profile of galley.toml or a revocation is a no.
  const bool is_undecided = judgement.rule == "grants";
  if (is_undecided && !possible_file_server(request).empty()) return fail(unknown);
  if (is_undecided && (agent == "claude" || agent == "gemini")) {
    return hook_asks(request.protocol,
                     session.with_hints("Galley does not know what this tool of another MCP server "
                                        "changes. To let it pass without "
                                        "a question: galley grant " +
                                        agent + " '" + capability + "'"));
  }
  return fail(ErrorKind::kRefused, unknown.reason, judgement.message + "; " + judgement.remedy);
}

/// Adds the versions to the error about something that Galley does not know: a newer version of the
/// agent may have it.
Error with_versions(const Session& session, Error error) {
  error.message += std::string(" (galley ") + GALLEY_VERSION;
  const AgentProgram* program = agent_of_program(session.arguments().global.agent);
  if (program != nullptr && !program->tested.empty()) {
    error.message +=
        ", tested with " + std::string(program->title) + " " + std::string(program->tested);
  }
  error.message += ")";
  return error;
}

Result<std::string> answer_to(Session& session, const HookRequest& request,
                              const std::stop_token& late) {
  const StagedProgram staged = staged_program(session, request);
  const auto action =
      hook_action_of(request, staged,
                     {session.arguments().agents.allow, session.arguments().agents.file_servers,
                      session.arguments().prefix},
                     [&](std::string_view name) { return is_offered(session, name); });
  if (!action) {
    const bool is_unknown =
        action.error().reason == "hook.unknown_tool" || action.error().reason == "hook.input";
    return answer_to_foreign(session, request,
                             is_unknown ? with_versions(session, action.error()) : action.error());
  }
  if (std::holds_alternative<HookedCall::Pass>(*action)) {
    const auto noted = is_own_tool(request) ? note_agent(session, request) : Result<void>();
    if (!noted) session.terminal().print_error(printable(noted.error().message));
    // A read is allowed if it cannot be judged: nothing is lost.
    const auto objection = objection_to_read(session, request);
    if (objection && !objection->empty()) return hook_denies(request.protocol, *objection);
    return hook_allows(request.protocol);
  }
  if (const auto* command = std::get_if<HookedCall::Command>(&*action)) {
    GALLEY_ASSIGN(const Workspace* workspace, session.open());
    GALLEY_ASSIGN(const std::string start, start_of(request, command->directory));
    GALLEY_TRY(check_start(session, *workspace, start));
    // Without a state, each command would say again what is not trusted.
    const bool is_said = !request.session.empty() && !rules_of(*workspace).trust_notice.empty();
    if (is_said) (void)state_for_notes(session);
    // codex cannot be told to ask.
    const bool wants_question = request.is_planning || rules_of(*workspace).config.hook.asks;
    const bool asks = wants_question && session.arguments().global.agent == "claude";
    return hook_replaces(request.protocol, command->input, asks);
  }
  GALLEY_ASSIGN(const Workspace* workspace, session.open());
  if (is_own_plan(request, session.arguments().global.agent, workspace->root_path())) {
    return hook_allows(request.protocol);
  }
  GALLEY_ASSIGN(std::string objection,
                objection_to(session, request, std::get<HookedCall::Edit>(*action), late));
  if (objection.empty()) return hook_allows(request.protocol);
  if (objection.ends_with('\n')) objection.pop_back();
  return hook_denies(request.protocol, "nothing was written: " + objection);
}

/// Whether a known agent uses the protocol of this request.
bool is_of(const std::string& agent, HookProtocol protocol) {
  if (agent == "codex" || agent == "claude") return protocol == HookProtocol::kPreToolUse;
  if (agent == "gemini") return protocol == HookProtocol::kBeforeTool;
  return agent != "opencode" || protocol == HookProtocol::kToolExecuteBefore;
}

int deny(Session& session, const std::string& why) {
  session.terminal().print_error(printable(session.with_hints(why)));
  return kDenied;
}

int judge_request(Session& session, HookTimer& timer) {
  const auto text = read_request();
  const auto request = text ? read_hook_request(*text) : fail(text.error());
  if (!request) {
    return deny(session, "the call is denied: " + with_versions(session, request.error()).message);
  }
  // Several agents have events of these names. None of them is answered.
  if (request->event == HookEvent::kOther) return kExitDone;
  const std::string& agent = session.arguments().global.agent;
  if (!is_of(agent, request->protocol)) {
    return deny(session, "the call is denied: this is not a request of '" + agent + "'");
  }
  if (request->event != HookEvent::kBefore) timer.expect_report();
  // Inside `galley run` and `galley exec` everything is staged already.
  if (is_inside_sandbox()) {
    session.print(hook_allows(request->protocol));
    return kExitDone;
  }
  if (!request->session.empty() && !is_session_id(request->session)) {
    const std::string why = "its session_id must have at most " + std::to_string(kMaxSessionBytes) +
                            " printable ASCII characters and no spaces";
    if (request->event == HookEvent::kBefore) return deny(session, "the call is denied: " + why);
    session.terminal().print_error("this is not on record: " + why);
    session.print(hook_allows(request->protocol));
    return kExitDone;
  }
  session.set_session_id(request->session);
  if (request->event != HookEvent::kBefore) {
    note_report(session, *request);
    return kExitDone;
  }
  const auto answer = answer_to(session, *request, timer.late());
  session.print(
      answer ? *answer
             : hook_denies(request->protocol,
                           session.with_hints("nothing was done: " + answer.error().message)));
  return kExitDone;
}

}  // namespace

Result<int> run_agent_hook(Session& session) {
  deny_on_faults();
  HookTimer timer;
  return judge_request(session, timer);
}

}  // namespace galley
