#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string_view>
#include <thread>
#include <utility>

#include "base/printable.h"
#include "base/text.h"
#include "cli/acp_run.h"
#include "cli/agent_run.h"
#include "cli/commands.h"
#include "cli/documents.h"
#include "cli/outcome.h"
#include "cli/person.h"
#include "cli/render.h"
#include "cli/run_commits.h"
#include "cli/run_service.h"
#include "engine/pipeline/inner_transaction.h"
#include "engine/pipeline/place.h"
#include "engine/pipeline/run_capture.h"
#include "engine/stages/run_basis.h"
#include "server/acp/acp_proxy.h"
#include "staging/fs/controlling_terminal.h"
#include "staging/fs/disk_directory.h"
#include "staging/fs/host_file.h"
#include "staging/printing/git_diff.h"
#include "staging/sandbox/terminal/run_client.h"
#include "staging/sandbox/terminal/run_supervisor.h"

namespace galley {
namespace {

/// The maximum number of paths in a summary. More are counted by folder.
constexpr size_t kMaxSummaryPaths = 100;

constexpr std::string_view kAnswersAtEnd =
    "c  commit: write these changes to your files, all or none\n"
    "k  keep: leave them in the transaction; galley status lists it (also Enter)\n"
    "d  drop: throw them away\n"
    "v  view: show the diff, then ask again\n";

enum class AtEnd { kAsk, kCommit, kKeep, kDrop };

AtEnd wish_of(const RunArguments& run) {
  if (run.commits) return AtEnd::kCommit;
  if (run.drops) return AtEnd::kDrop;
  return run.keeps ? AtEnd::kKeep : AtEnd::kAsk;
}

/// Asks the person what to do after a run. Without a person the transaction is kept.
Result<AtEnd> ask_at_end(Session& session, Transaction& transaction) {
  const bool has_person = !session.is_json() && session.terminal().is_error_terminal() &&
                          session.terminal().is_input_terminal();
  auto terminal = ControllingTerminal::open();
  if (!has_person || !terminal) return AtEnd::kKeep;
  GALLEY_ASSIGN(const Preview preview, transaction.preview(session.gate_progress()));
  Json document;
  GALLEY_TRY(finish_verdict(session, preview.verdict, document));
  session.terminal().release_terminal();
  for (;;) {
    GALLEY_ASSIGN(const std::string answer,
                  (*terminal)->ask("Commit, keep or drop what it changed? [c/K/d, v shows it] "));
    if (answer == "c" || answer == "commit") return AtEnd::kCommit;
    if (answer == "d" || answer == "drop") return AtEnd::kDrop;
    if (answer.empty() || answer == "k" || answer == "K" || answer == "keep") return AtEnd::kKeep;
    if (answer != "v") {
      GALLEY_TRY((*terminal)->write(kAnswersAtEnd));
      continue;
    }
    GALLEY_ASSIGN(const std::string diff, diff_on_screen(session, transaction.proposal()));
    GALLEY_TRY((*terminal)->write(diff));
  }
}

/// The text that lists the changed paths, and their number.
struct ListedPaths {
  std::string text;
  size_t count = 0;
};

/// Returns a long list of paths, counted by top folder.
ListedPaths listed_by_folder(const ChangeSet& changes) {
  std::map<std::string, size_t> counts;
  for (const Change& change : changes) {
    const bool is_folder = !is_file_or_link(change.before) && !is_file_or_link(change.after);
    if (is_folder) continue;  // its contents are counted
    const std::string& path = change.path.str();
    const size_t slash = path.find('/');
    ++counts[slash == std::string::npos ? std::string() : path.substr(0, slash + 1)];
  }
  ListedPaths listed;
  for (const auto& [folder, count] : counts) {
    listed.text +=
        fmt::format("{}\t{}\n", count, folder.empty() ? "at the top" : quote_path(folder));
    listed.count += count;
  }
  return listed;
}

/// Lists the paths as `diff --name-status` does. A folder is listed only if no path in it is.
Result<ListedPaths> listed_paths(const Proposal& proposal) {
  if (proposal.changes().size() > kMaxSummaryPaths) return listed_by_folder(proposal.changes());
  ListedPaths listed;
  GALLEY_ASSIGN(listed.text, render_names(proposal));
  listed.count = static_cast<size_t>(std::count(listed.text.begin(), listed.text.end(), '\n'));
  return listed;
}

/// Prints how the run ended and what it changed.
void say_summary(Session& session, const RunEnding& ending, const ListedPaths& listed,
                 bool has_commits) {
  session.say(fmt::format("{}; {} changed", ending.ended, counted(listed.count, "path")));
  if (!ending.breach.empty()) session.print_error_lines(printable_line(ending.breach));
  if (!listed.text.empty()) session.say_lines(listed.text);
  for (const std::string& wall : ending.walls) session.say(wall);
  const bool is_named =
      std::find(ending.walls.begin(), ending.walls.end(), kNewRepositoryNote) != ending.walls.end();
  if (ending.protected_paths > 0 && !has_commits && !is_named) {
    session.say("what it changed in .git is dropped; no branch, tag or stash has new commits");
  }
  if (ending.ignored_paths > 0) {
    const uint64_t others = ending.ignored_paths - 1;
    session.say("ignored by git and not proposed: " + printable_line(ending.first_ignored) +
                (others > 0 ? " and " + counted(others, "more path") : ""));
  }
}

/// Returns what the transaction's runs wrote over folders of the host.
Result<std::vector<WrittenLayer>> layers_of(Session& session, const std::string& tx) {
  GALLEY_ASSIGN(const Workspace* workspace, session.open());
  return written_layers(*persistent_of(*workspace).state(), tx);
}

void say_layers(Session& session, const std::vector<WrittenLayer>& layers) {
  for (const WrittenLayer& layer : layers) {
    session.say(
        fmt::format("{} written in {}: in a layer, .galley/{}, which goes with the "
                    "transaction",
                    counted(layer.written, "path"), printable_line(layer.path), layer.place));
  }
}

Json layers_json(const std::vector<WrittenLayer>& layers) {
  Json all = Json::array();
  for (const WrittenLayer& layer : layers) {
    all.push_back(
        {{"path", layer.path}, {"written", layer.written}, {"place", ".galley/" + layer.place}});
  }
  return all;
}

Json ending_json(const RunEnding& ending, Json changes, Json layers) {
  Json document = {{"schema", "galley.run/1"},
                   {"ok", true},
                   {"tx", ending.tx},
                   {"status", ending.status},
                   {"ended", ending.ended},
                   {"git_changed", ending.protected_paths > 0},
                   {"ignored_paths", ending.ignored_paths},
                   {"met_walls", ending.walls},
                   {"changes", std::move(changes)},
                   {"layers", std::move(layers)}};
  if (ending.ignored_paths > 0) document["first_ignored"] = ending.first_ignored;
  return document;
}

std::string kept_text(const Session& session, const std::string& tx) {
  return fmt::format("kept in transaction {}: {}, {}, {}, {}", tx, session.hint("diff --tx " + tx),
                     session.hint("review --tx " + tx), session.hint("commit --tx " + tx),
                     session.hint("run --resume " + tx) + " -- PROGRAM");
}

Result<int> commit_run(Session& session, Transaction& transaction, const RunEnding& ending,
                       RunCommits& commits, Json& document) {
  CommitRequest request;
  GALLEY_TRY(commits.copy());
  request.on_progress = session.commit_progress();
  GALLEY_ASSIGN(const CommitOutcome outcome, transaction.commit(request));
  const bool is_committed = std::holds_alternative<Receipt>(outcome);
  document["end"] = is_committed ? "committed" : "kept";
  const bool are_kept = !is_committed || commits.keep(true);
  if (is_committed) commits.report_dropped();
  document["git_commits"] = commits.json();
  GALLEY_ASSIGN(const int status, finish_commit(session, outcome, document));
  const bool is_nothing = std::holds_alternative<NothingToCommit>(outcome);
  if (!is_committed && !is_nothing) {
    session.print_error_lines(kept_text(session, ending.tx) + "\n");
  }
  if (ending.status != kExitDone) return ending.status;
  return are_kept ? status : kExitNo;
}

/// Keeps git commits of the run although the transaction is not committed.
Result<int> settle_commits(const RunEnding& ending, RunCommits& commits, Json& document) {
  GALLEY_TRY(commits.copy());
  const bool are_kept = commits.keep(false);
  document["git_commits"] = commits.json();
  return ending.status == kExitDone && !are_kept ? kExitNo : ending.status;
}

/// Ends a run whose supervisor dropped the empty transaction.
int conclude_dropped(Session& session, const RunEnding& ending) {
  say_summary(session, ending, {}, false);
  if (session.is_json()) {
    Json document = ending_json(ending, Json::array(), Json::array());
    document["end"] = "dropped";
    session.print(document);
  }
  return ending.status;
}

/// A program that nobody watches may switch the branch and forget it. Its changes then contain
/// those of the other branch, so --commit does not commit them.
void hold_back(Session& session, const std::string& tx, Json& document) {
  const Error why{ErrorKind::kRefused, "run.other_branch",
                  "not committed, because the program switched the git branch and --commit does "
                  "not mix two branches: look at the changes, then " +
                      session.hint("commit --tx " + tx),
                  "", 0};
  document["ok"] = false;
  document["reason"] = why.reason;
  document["message"] = why.message;
  session.print_error_lines(why.message + "\n");
}

/// Ends a run whose layer is staged: asks whether to commit, keep or drop it.
Result<int> conclude(Session& session, const RunEnding& ending) {
  if (ending.error) return fail(*ending.error);
  if (ending.is_dropped) return conclude_dropped(session, ending);
  GALLEY_ASSIGN(Transaction transaction, session.resume(ending.tx));
  const Proposal proposal = transaction.proposal();
  GALLEY_ASSIGN(const ListedPaths listed, listed_paths(proposal));
  GALLEY_ASSIGN(const auto layers, layers_of(session, ending.tx));
  GALLEY_ASSIGN(RunCommits commits, RunCommits::of(session, ending.tx));
  say_summary(session, ending, listed, !commits.is_empty());
  say_layers(session, layers);
  bool is_elsewhere = false;
  if (ending.head) {
    GALLEY_ASSIGN(is_elsewhere, commits.say_branch(*ending.head));
  }
  commits.say();
  Json document = ending_json(ending, changes_json(proposal.changes()), layers_json(layers));
  AtEnd wish = wish_of(session.arguments().run);
  const bool is_held_back = is_elsewhere && wish == AtEnd::kCommit && !proposal.is_empty();
  if (is_held_back) {
    hold_back(session, ending.tx, document);
    wish = AtEnd::kKeep;
  }
  const bool has_nothing_else = proposal.is_empty() && layers.empty();
  if (wish == AtEnd::kAsk && !has_nothing_else) {
    GALLEY_ASSIGN(wish, ask_at_end(session, transaction));
  }
  GALLEY_ASSIGN(const bool keeps_commits, commits.wants_keep());
  const bool commits_files = wish == AtEnd::kCommit;
  if (commits_files && (!proposal.is_empty() || commits.is_empty())) {
    return commit_run(session, transaction, ending, commits, document);
  }
  GALLEY_ASSIGN(const int status, settle_commits(ending, commits, document));
  const bool is_settled =
      keeps_commits || commits_files || session.arguments().run.git_commits == "drop";
  const bool is_done =
      status == ending.status && is_settled && has_nothing_else && ending.was_begun;
  if (wish == AtEnd::kDrop || is_done) {
    GALLEY_TRY(transaction.rollback());
    commits.report_dropped();
    if (!is_done) session.say("dropped");
  } else {
    session.say(kept_text(session, ending.tx));
  }
  document["end"] = wish == AtEnd::kDrop || is_done ? "dropped" : "kept";
  if (session.is_json()) session.print(document);
  return is_held_back && status == kExitDone ? kExitNo : status;
}

std::string place_of_run(const Session& session, const std::string& run) {
  const Arguments& arguments = session.arguments();
  std::string name = arguments.run.name.empty() ? arguments.id : arguments.run.name;
  if (name.empty()) name = run;
  return name.empty() ? session.hint("status") : session.hint("attach " + name);
}

Result<int> finish_client(Session& session, const ClientEnd& end) {
  switch (end.why) {
    case ClientEnd::Reason::kEnded:
      if (const auto ending = RunEnding::decode(end.text)) return conclude(session, *ending);
      break;
    case ClientEnd::Reason::kFailed:
      return fail(decode_error(end.text));
    case ClientEnd::Reason::kDetached:
    case ClientEnd::Reason::kTaken:
      session.say("the run goes on: " + place_of_run(session, end.run));
      return kExitDone;
    case ClientEnd::Reason::kStuck:
      return fail(ErrorKind::kIo, "run.lost",
                  "the program did not read its input, and is stopped; what it wrote is kept: " +
                      session.hint("status"));
    case ClientEnd::Reason::kLost:
      break;
  }
  return fail(ErrorKind::kIo, "run.lost",
              "the supervisor of the run was killed, and its program with it; what it wrote is "
              "kept: galley status");
}

/// Starts the program and passes its streams on until it ends. Returns nothing in the process of
/// the supervisor, whose work is then done.
Result<std::optional<ClientEnd>> start_and_attach(Session& session, const ClientOptions& options) {
  GALLEY_TRY(check_git_commits(session.arguments()));  // a known agent gets its name below
  GALLEY_ASSIGN(const Arguments arguments, arguments_of_run(session));
  const RunScreen screen = own_screen();
  GALLEY_ASSIGN(ForkedSupervisor forked, fork_supervisor());
  if (forked.is_supervisor) {
    // The agent begins the transaction. The person, who is asked at its end, is another caller.
    Session supervised(arguments, session.terminal());
    supervise_run(supervised, std::move(forked.socket), options.is_terminal, screen);
    return std::optional<ClientEnd>();
  }
  return std::optional(attach_to_run(std::move(forked.socket), options));
}

Result<int> run(Session& session) {
  GALLEY_TRY(refuse_inside_exec("run"));
  ClientOptions options;
  GALLEY_ASSIGN(options.detach_keys, DetachKeys::parse(session.arguments().run.detach_keys));
  options.is_terminal = session.terminal().is_terminal() &&
                        session.terminal().is_input_terminal() && !session.is_json();
  options.output_to_stderr = session.is_json();
  GALLEY_ASSIGN(const auto end, start_and_attach(session, options));
  return end ? finish_client(session, *end) : Result<int>(kExitDone);
}

Result<AcpCommitTime> commit_time(const std::string& word) {
  if (word == "ask") return AcpCommitTime::kAsk;
  if (word == "turn") return AcpCommitTime::kTurn;
  if (word == "session") return AcpCommitTime::kSession;
  return fail(ErrorKind::kUsage, "usage.acp_commit",
              "--commit takes ask, turn or session, not '" + printable_line(word) + "'");
}

/// Passes the messages of an editor and of an agent through the proxy.
class AcpRelay final : public ClientRelay {
 public:
  AcpRelay(Session& session, AcpCommitTime when, std::string root)
      : run_(session), proxy_(run_, when, std::move(root)) {}

  void begin(const std::string& run) override { run_.begin(run); }
  void take_input(std::string_view bytes) override { proxy_.take_from_editor(bytes); }
  void take_output(std::string_view bytes) override { proxy_.take_from_agent(bytes); }
  void end() override {
    was_in_turn_ = proxy_.is_in_turn();
    proxy_.end();
  }
  [[nodiscard]] bool has_rest() const override { return proxy_.has_rest(); }
  void rest() override { proxy_.rest(); }
  [[nodiscard]] std::string for_output() override { return proxy_.for_editor(); }
  [[nodiscard]] std::string for_program() override { return proxy_.for_agent(); }
  [[nodiscard]] bool needs_files() override { return proxy_.begins_turn(); }
  [[nodiscard]] std::string last_session() const { return run_.last_session(); }
  /// Whether the agent ended before its last turn did.
  [[nodiscard]] bool was_in_turn() const { return was_in_turn_; }

 private:
  AcpRun run_;
  AcpProxy proxy_;
  bool was_in_turn_ = false;
};

/// The ending of a run whose transaction no longer exists: its last turn was committed after the
/// program had ended. Nothing in all other cases.
std::optional<RunEnding> closed_ending(Session& session, const ClientEnd& end) {
  if (end.why != ClientEnd::Reason::kEnded) return {};
  auto ending = RunEnding::decode(end.text);
  if (!ending || ending->is_dropped) return {};
  std::optional<Error> why = ending->error;  // the supervisor's look was later than the commit
  if (!why) {
    const auto left = session.resume(ending->tx);
    if (!left) why = left.error();
  }
  return why && why->reason == "stage.not_found" ? std::move(ending) : std::nullopt;
}

Result<int> serve_editor(Session& caller) {
  GALLEY_TRY(refuse_inside_exec("acp"));
  GALLEY_ASSIGN(const AcpCommitTime when, commit_time(caller.arguments().run.commit_time));
  GALLEY_ASSIGN(const std::string here, absolute_path("."));
  GALLEY_ASSIGN(const UserSettings user, load_user_settings());
  GALLEY_ASSIGN(const FoundRoot root, find_root(here, user.config));
  GALLEY_ASSIGN(Arguments arguments, arguments_of_acp(caller.arguments(), root.path));
  Session session(arguments, caller.terminal());
  AcpRelay relay(session, when, root.path);
  ClientOptions options;
  options.relay = &relay;
  GALLEY_ASSIGN(const auto end, start_and_attach(session, options));
  if (!end) return kExitDone;
  arguments.run.commits = when == AcpCommitTime::kSession && !relay.was_in_turn();
  arguments.global.is_quiet |= arguments.run.commits;  // the receipt is for standard output
  Session last(arguments, caller.terminal());
  last.set_session_id(relay.last_session());
  if (const auto ending = closed_ending(last, *end)) {
    last.say(ending->ended + "; nothing is left to commit");
    return ending->status;
  }
  return finish_client(last, *end);
}

/// Returns the only live run, if the command names none.
Result<std::string> only_live_run(const StateDirectory& state) {
  GALLEY_ASSIGN(const auto ids, RunFolder::list(state));
  std::vector<std::string> live;
  for (const std::string& id : ids) {
    const auto folder = RunFolder::open(state, id);
    const auto is_live = folder ? folder->is_live() : Result<bool>(false);
    if (is_live && *is_live) live.push_back(id);
  }
  if (live.size() == 1) return live.front();
  if (live.empty()) {
    return fail(ErrorKind::kNotFound, "run.not_found", "no program runs in this workspace");
  }
  return fail(
      ErrorKind::kUsage, "run.which",
      fmt::format("{} programs run here: name one of {}", live.size(), fmt::join(live, ", ")));
}

/// Returns the run that the command names.
Result<RunFolder> named_run(Session& session, const std::string& wanted) {
  GALLEY_ASSIGN(const Workspace* workspace, session.open());
  const StateDirectory* state = persistent_of(*workspace).state();
  if (state == nullptr) {
    return fail(ErrorKind::kNotFound, "run.not_found", "no program runs in this workspace");
  }
  GALLEY_ASSIGN(const std::string tx,
                wanted.empty() ? only_live_run(*state) : RunFolder::find(*state, wanted));
  return RunFolder::open(*state, tx);
}

/// Connects to the socket of a live run.
Result<Fd> reach(Session& session, const std::string& wanted) {
  GALLEY_ASSIGN(const RunFolder folder, named_run(session, wanted));
  return connect_to_supervisor(folder.directory().descriptor());
}

std::string sync_text(const InnerTransaction::SyncedRun& done, const std::string& tx) {
  std::string text;
  for (const RelPath& path : done.taken) text += "taken over: " + printable_line(path.str()) + "\n";
  for (const MergedPath& one : done.merged) {
    text += one.how + ": " + printable_line(one.path.str()) + "\n";
  }
  for (const RelPath& path : done.skipped) {
    text +=
        "not taken over, because the program changed it meanwhile or has something in its "
        "way: " +
        printable_line(path.str()) + "\n";
  }
  if (text.empty() && done.conflicts.empty()) text = "the run " + tx + " has what is on disk\n";
  return text;
}

// --- whether a program is idle ------------------------------------------------------------------

constexpr std::chrono::milliseconds kQuietTime{200};
constexpr std::chrono::milliseconds kProcessLook{20};
constexpr uint64_t kMaxStatBytes = 4096;

/// What /proc/PID/stat says (proc_pid_stat(5)).
struct ProcessStat {
  int64_t parent = 0;
  bool sleeps = false;
  uint64_t start = 0;
  uint64_t ticks = 0;  ///< of processor time
};

std::optional<ProcessStat> stat_of(const std::string& pid) {
  const auto text = read_host_file("/proc/" + pid + "/stat", kMaxStatBytes);
  if (!text) return std::nullopt;
  constexpr int kUserTime = 14;
  constexpr int kSystemTime = 15;
  constexpr int kStart = 22;
  // The name before the state may have any characters.
  std::istringstream fields(text->substr(text->rfind(')') + 1));
  ProcessStat stat;
  std::string state;
  fields >> state >> stat.parent;
  std::string field;
  for (int number = 5; number <= kStart && fields >> field; ++number) {
    const uint64_t value = std::strtoull(field.c_str(), nullptr, 10);
    if (number == kUserTime || number == kSystemTime) stat.ticks += value;
    if (number == kStart) stat.start = value;
  }
  stat.sleeps = state != "R" && state != "D";
  return stat;
}

using Processes = std::map<int64_t, ProcessStat>;  // by their numbers

/// All processes that this user sees.
Processes all_processes() {
  Processes all;
  const auto proc = open_disk_directory("/proc");
  const auto names = proc ? (*proc)->list() : Result<std::vector<DirectoryEntry>>();
  if (!names) return all;
  for (const DirectoryEntry& one : *names) {
    const std::string name = one.name;
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    if (const auto stat = stat_of(name)) all[std::strtoll(name.c_str(), nullptr, 10)] = *stat;
  }
  return all;
}

/// The processes of a run, with their start and processor times; empty if one of them does not
/// sleep, or if none is seen.
std::map<int64_t, std::pair<uint64_t, uint64_t>> sleeping_processes(int64_t supervisor) {
  const Processes all = all_processes();
  std::map<int64_t, std::pair<uint64_t, uint64_t>> found;
  for (const auto& [pid, stat] : all) {
    int64_t above = stat.parent;
    for (size_t steps = 0; above != supervisor && steps < all.size(); ++steps) {
      const auto parent = all.find(above);
      if (parent == all.end()) break;
      above = parent->second.parent;
    }
    if (above != supervisor) continue;
    if (!stat.sleeps) return {};
    found[pid] = {stat.start, stat.ticks};
  }
  return found;
}

/// Waits until the processes below the supervisor of a run have slept for a moment: none of them
/// started, ended, computed or waited for a disk. Returns false if that did not happen in time.
///
/// A process that sleeps may write at any time, so this is no lock.
bool wait_until_idle(const ProcessIdentity& supervisor, std::chrono::seconds patience,
                     const Clock& clock) {
  const Deadline end = Deadline::after(clock, patience);
  auto before = sleeping_processes(supervisor.pid);
  Deadline quiet = Deadline::after(clock, kQuietTime);
  while (!end.has_passed(clock)) {
    std::this_thread::sleep_for(kProcessLook);
    auto now = sleeping_processes(supervisor.pid);
    if (now.empty() || now != before) {
      before = std::move(now);
      quiet = Deadline::after(clock, kQuietTime);
    } else if (quiet.has_passed(clock)) {
      return true;
    }
  }
  return false;
}

/// Waits until the program is idle. A busy program may have read a file and not yet written it: it
/// would take back what the sync puts there. Without a wait it returns false.
/// Errors: kTimeout `run.busy`.
Result<bool> wait_for_run(Session& session, const RunFolder& folder) {
  const std::chrono::seconds patience(session.arguments().run.idle_wait_s);
  GALLEY_ASSIGN(const Workspace* workspace, session.open());
  GALLEY_ASSIGN(const RunNote note, folder.note());
  session.terminal().work_on("waiting until the program is idle");
  const bool is_idle = wait_until_idle(note.supervisor, patience, place_of(*workspace).clock());
  if (!is_idle && patience.count() > 0) {
    return fail(ErrorKind::kTimeout, "run.busy",
                fmt::format("nothing was taken over: the program was not idle within {}. Wait "
                            "longer (--wait 60), or do not wait (--wait 0): then what it is "
                            "writing may take back what others committed",
                            counted(patience.count(), "second")));
  }
  return is_idle;
}

}  // namespace

Result<int> run_run(Session& session) {
  const auto status = run(session);
  return status ? *status : start_exit_status(status.error(), session.report(status.error()));
}

Result<int> run_acp(Session& caller) {
  // Only messages of the protocol may appear on standard output.
  Arguments arguments = caller.arguments();
  arguments.global.is_json = false;
  Session session(arguments, caller.terminal());
  const auto status = serve_editor(session);
  return status ? *status : start_exit_status(status.error(), session.report(status.error()));
}

Result<int> run_attach(Session& session) {
  GALLEY_TRY(refuse_inside_exec("attach"));
  if (!session.terminal().is_terminal() || !session.terminal().is_input_terminal()) {
    return fail(ErrorKind::kUsage, "run.no_terminal", "attach wants a terminal to give to the run");
  }
  ClientOptions options;
  GALLEY_ASSIGN(options.detach_keys, DetachKeys::parse(session.arguments().run.detach_keys));
  options.is_terminal = options.attaches = true;
  GALLEY_ASSIGN(Fd supervisor, reach(session, session.arguments().id));
  session.terminal().release_terminal();
  return finish_client(session, attach_to_run(std::move(supervisor), options));
}

Result<int> run_stop(Session& session) {
  GALLEY_TRY(refuse_inside_exec("stop"));
  GALLEY_ASSIGN(Fd supervisor, reach(session, session.arguments().id));
  session.terminal().work_on("waiting for the run to end");
  const ClientEnd end = stop_run(std::move(supervisor));
  const auto ending = RunEnding::decode(end.text);
  if (!ending) return finish_client(session, end);
  if (ending->error) return fail(*ending->error);
  // The attached client asks the person. This command only says where the result is.
  if (session.is_json()) {
    session.print(Json{
        {"schema", "galley.stop/1"}, {"ok", true}, {"tx", ending->tx}, {"ended", ending->ended}});
  }
  session.say(ending->is_dropped
                  ? ending->ended + "; it changed nothing"
                  : fmt::format("{}; kept in transaction {}: {}", ending->ended, ending->tx,
                                session.hint("diff --tx " + ending->tx)));
  return kExitDone;
}

Result<int> run_sync(Session& session) {
  GALLEY_TRY(refuse_inside_exec("sync"));
  GALLEY_ASSIGN(const RunFolder folder, named_run(session, session.arguments().id));
  GALLEY_ASSIGN(const bool was_idle, wait_for_run(session, folder));
  GALLEY_ASSIGN(Transaction transaction, session.resume(folder.tx()));
  GALLEY_ASSIGN(InnerTransaction::SyncedRun done, inner(transaction).sync_run());
  Conflict conflict;
  conflict.reason = "conflict.changed_on_disk";
  conflict.paths.assign(done.conflicts.begin(), done.conflicts.end());
  const bool is_whole = conflict.paths.empty() && done.skipped.empty();
  if (session.is_json()) {
    Json document = {{"schema", "galley.sync/1"}, {"ok", is_whole},
                     {"tx", folder.tx()},         {"taken", paths_json(done.taken)},
                     {"merged", Json::array()},   {"skipped", paths_json(done.skipped)},
                     {"was_idle", was_idle}};
    for (const MergedPath& one : done.merged) {
      document["merged"].push_back({{"path", one.path.str()}, {"how", one.how}});
    }
    if (!conflict.paths.empty()) document["conflict"] = conflict_json(conflict);
    session.print(document);
  } else {
    session.terminal().print(sync_text(done, folder.tx()));
    if (!conflict.paths.empty())
      session.terminal().print_message(
          conflict_text(conflict, "the run keeps these files as they were"));
  }
  return is_whole ? kExitDone : kExitNo;
}

}  // namespace galley
