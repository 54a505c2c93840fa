#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/printable.h"
#include "base/result.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/history_text.h"
#include "cli/outcome.h"
#include "cli/person.h"
#include "cli/places.h"
#include "cli/render.h"
#include "cli/reports.h"
#include "cli/run_commits.h"
#include "cli/run_service.h"
#include "cli/session.h"
#include "cli/staged.h"
#include "engine/audit/recorded_calls.h"
#include "engine/commit/stage_directory.h"
#include "engine/commit/state_directory.h"
#include "engine/history/turns.h"
#include "engine/pipeline/approvals.h"
#include "engine/pipeline/asked_calls.h"
#include "engine/pipeline/inner_transaction.h"
#include "engine/pipeline/maintenance.h"
#include "engine/policy/finding_rules.h"
#include "engine/policy/proposed_tree.h"
#include "engine/stages/savepoints.h"
#include "staging/overlay/proposal_diff.h"
#include "staging/overlay/staged_step.h"

namespace galley {
namespace {

Result<int> take_out_of_open(Session& session, const std::string& tx) {
  const Arguments& arguments = session.arguments();
  GALLEY_ASSIGN(Transaction transaction, session.resume(tx));
  const CallOptions options{.dry_run = arguments.dry_run};
  GALLEY_ASSIGN(const auto taken,
                transaction.rollback_execution(arguments.execution, arguments.with_later, options));
  warn_of_unrecorded(session, transaction);
  if (session.is_json()) {
    Json document = {{"schema", "galley.rollback/1"},
                     {"ok", true},
                     {"tx", transaction.id()},
                     {"executions", taken}};
    if (arguments.dry_run) document["dry_run"] = true;
    session.print(document);
  }
  for (const std::string& id : taken) {
    session.say((arguments.dry_run ? "would take back " : "took back ") + printable_line(id));
  }
  return kExitDone;
}

Result<int> undo_committed(Session& session, Workspace& workspace, TxId tx) {
  const Arguments& arguments = session.arguments();
  if (arguments.dry_run) {
    return fail(ErrorKind::kUsage, "rollback.no_preview",
                "-n shows what would be taken out of an open transaction; this call is committed: "
                "look with galley undo -n --path PATH " +
                    tx.str());
  }
  GALLEY_ASSIGN(const CommitOutcome outcome,
                workspace.rollback_execution(arguments.execution, arguments.with_later,
                                             session.transaction_options()));
  Json document = {{"schema", "galley.rollback/1"}, {"ok", true}, {"tx", tx.str()}};
  return finish_commit(session, outcome, document);
}

/// rollback --execution: reverts one call. In an open transaction it removes the staged changes; if
/// the call was committed, it undoes its paths.
Result<int> rollback_execution(Session& session) {
  const Arguments& arguments = session.arguments();
  if (!arguments.tx.empty()) return take_out_of_open(session, arguments.tx);
  GALLEY_ASSIGN(Workspace * workspace, session.open());
  GALLEY_ASSIGN(const History history, persistent_of(*workspace).history("roll back"));
  GALLEY_ASSIGN(const RecordedTransaction found,
                find_recorded_call(history.state().root(), arguments.execution));
  if (found.committed) return undo_committed(session, *workspace, *found.committed);
  return take_out_of_open(session, found.open_tx);
}

Json stage_json(const StageStatus& stage, const std::string& agent) {
  return {{"tx", stage.id},
          {"agent", stage.agent},
          {"own", stage.is_own(agent)},
          {"message", stage.message},
          {"begun", rfc3339_utc(stage.begun_ns)},
          {"changes", stage.changes},
          {"held", stage.is_held}};
}

/// Returns the owner of a transaction, as the caller sees it.
std::string owner_text(const StageStatus& stage, const std::string& agent) {
  if (stage.is_own(agent)) return "yours";
  const std::string name = stage.agent.empty() ? "no agent" : printable_line(stage.agent);
  return "of " + name + (stage.is_of_this_user ? "" : ", another user of this machine");
}

std::string stage_text(const StageStatus& stage, const std::string& agent) {
  // The changes of a held transaction cannot be read.
  std::string text =
      fmt::format("transaction {}  {}  begun {}  {}\n", printable_line(stage.id),
                  owner_text(stage, agent), rfc3339_utc(stage.begun_ns),
                  stage.is_held ? "(another process has it open)" : counted(stage.changes, "path"));
  if (!stage.message.empty()) text += "    " + printable_line(stage.message) + "\n";
  return text;
}

/// Returns the transaction whose changes are shown: that of --tx, or the only own one.
const StageStatus* shown_stage(Session& session, const std::vector<StageStatus>& stages) {
  const std::string& wanted = session.arguments().tx;
  const StageStatus* found = nullptr;
  for (const StageStatus& stage : stages) {
    const bool is_meant = wanted.empty() ? stage.is_own(session.arguments().global.agent)
                                         : stage.id.starts_with(wanted);
    if (!is_meant) continue;
    if (found != nullptr) return nullptr;
    found = &stage;
  }
  return found;
}

/// Of several open transactions, `status` shows the first paths of this many, and this many paths.
constexpr size_t kMaxNamedStages = 8;
constexpr size_t kMaxNamedPaths = 3;

/// Returns the first changed paths of a transaction that is one of several; nothing if it cannot be
/// opened now.
Result<std::string> first_paths(Session& session, const StageStatus& stage) {
  GALLEY_ASSIGN(Workspace * workspace, session.open());
  const auto transaction = workspace->resume(stage.id, session.arguments().global.agent);
  if (!transaction) return std::string();
  const Proposal proposal = transaction->proposal();
  GALLEY_ASSIGN(const std::string text, render_names(proposal));
  size_t end = 0;
  for (size_t i = 0; i < kMaxNamedPaths && end < text.size(); ++i) end = text.find('\n', end) + 1;
  if (end >= text.size()) return text;
  return text.substr(0, end) + "    all: " + session.hint("status --tx " + stage.id) + "\n";
}

/// A warning for each open transaction that is not among the readable ones because it is damaged.
/// Adds them to `document`.
Result<std::string> unreadable_text(Session& session, const Workspace& workspace,
                                    const std::vector<StageStatus>& readable, Json& document) {
  std::string text;
  const StateDirectory* state = persistent_of(workspace).state();
  if (state == nullptr) return text;
  GALLEY_ASSIGN(const auto damaged, damaged_transactions(*state, readable));
  for (const std::string& id : damaged) {
    document["unreadable"].push_back(id);
    text += "warning: what is staged in transaction " + id +
            " cannot be read; drop it with: " + session.hint("rollback --tx " + id) + "\n";
  }
  return text;
}

/// diff --html: includes the gate's findings on the whole transaction, at their lines.
Result<void> write_diff_report(Session& session, Transaction& transaction,
                               const std::vector<RelPath>& paths) {
  GALLEY_ASSIGN(const Preview preview, transaction.preview(session.gate_progress()));
  ReviewSubject subject;
  subject.title = "Transaction " + transaction.id();
  subject.facts = facts_of(transaction.options());
  subject.verdict = &preview.verdict;
  return write_report(session, part_below(preview.proposal, paths), std::move(subject));
}

/// Ends `diff` after the page was written.
Result<int> tell_diff(Session& session, const Proposal& whole, const Proposal& proposal,
                      Json document) {
  const int status =
      session.arguments().diff.is_quiet && !proposal.is_empty() ? kExitNo : kExitDone;
  if (!session.is_json()) {
    if (!session.arguments().diff.html.empty()) return kExitDone;
    GALLEY_TRY(print_changes(session, proposal, session.arguments().diff));
    return status;
  }
  document["proposal"] = whole.id().hex();
  document["changes"] = changes_json(proposal.changes());
  GALLEY_TRY(add_exact_diff(session, document, proposal));
  GALLEY_ASSIGN(const auto files, summarize_proposal(proposal));
  document["files"] = Json::array();
  for (const FileDiff& file : files) {
    document["files"].push_back({{"path", file.new_path},
                                 {"status", std::string(1, file.status)},
                                 {"added", file.counts.added},
                                 {"removed", file.counts.removed},
                                 {"binary", file.is_binary}});
  }
  session.print(document);
  return status;
}

/// diff A..B [PATH...]: shows the change that `galley check --range` judges, in a page with its
/// verdict.
Result<int> diff_of_range(Session& session, const std::string& range,
                          const std::vector<std::string>& names) {
  GALLEY_ASSIGN(const CheckSource source, range_source(range));
  GALLEY_ASSIGN(const auto check, open_check(session, source));
  GALLEY_ASSIGN(const auto paths, session.paths(names));
  const Proposal proposal = part_below(check->proposal(), paths);
  if (proposal.is_empty() && !names.empty()) {
    session.say(printable_line(range) + " changes nothing at the paths that were named");
  }
  if (!session.arguments().diff.html.empty()) {
    GALLEY_ASSIGN(const Preview preview, check->judge(session.gate_progress()));
    ReviewSubject subject;
    subject.title = "Range " + printable_line(range);
    subject.verdict = &preview.verdict;
    GALLEY_TRY(write_report(session, proposal, std::move(subject)));
  }
  return tell_diff(session, check->proposal(), proposal,
                   {{"schema", "galley.diff/1"}, {"ok", true}, {"range", range}});
}

/// A name without a proposed or existing file is an error, not an empty diff.
Result<void> check_names(Session& session, const Proposal& whole) {
  std::vector<std::string> proposed;
  for (const Change& change : whole.changes()) proposed.push_back(change.path.str());
  for (const std::string& word : session.arguments().words) {
    GALLEY_ASSIGN(const RelPath meant, session.path(word));
    if (!part_below(whole, {meant}).is_empty()) continue;
    GALLEY_ASSIGN(const auto hint, hint_if_absent(session, meant, proposed));
    if (!hint) continue;
    return fail(ErrorKind::kUsage, "diff.no_such_path",
                "nothing is proposed at '" + printable_line(word) + "', and nothing is there; " +
                    (!hint->empty() ? *hint
                                    : session.hint("diff --name-status") +
                                          " lists the paths of the transaction, and " +
                                          session.hint("diff A..B") + " compares commits of git"));
  }
  return {};
}

/// `diff --turn N`: what the turn changed, from before its first commit to after its last.
Result<int> diff_of_turn(Session& session) {
  GALLEY_ASSIGN(const History history, open_history(session, "show"));
  GALLEY_ASSIGN(const TurnSummary turn, wanted_turn(session, history));
  std::vector<TxId> ids;
  for (const TxSummary& one : turn.transactions) ids.push_back(one.id);
  const std::string what = "turn " + turn.name();
  GALLEY_TRY(check_names_in(session, history, turn.transactions, session.arguments().words, what));
  GALLEY_ASSIGN(const Proposal whole, change_together(history, ids));
  GALLEY_ASSIGN(const auto paths, session.paths(session.arguments().words));
  const Proposal proposal = part_below(whole, paths);
  if (!session.arguments().diff.html.empty()) {
    ReviewSubject subject;
    subject.title = "Turn " + turn.name();
    GALLEY_TRY(write_report(session, proposal, std::move(subject)));
  }
  return tell_diff(session, whole, proposal,
                   {{"schema", "galley.diff/1"}, {"ok", true}, {"turn", turn.name()}});
}

/// Tells a person which staged paths have changed on disk, where the commit merges or conflicts.
void say_changed_since(Session& session, const Proposal& proposal) {
  const auto workspace = session.open();
  if (!workspace || session.is_json() || session.arguments().diff.is_quiet) return;
  const auto conflict = persistent_of(**workspace).find_conflict(proposal);
  if (!conflict || !*conflict) return;  // the commit names what is wrong
  std::vector<std::string> names;
  for (const ConflictPath& one : (*conflict)->paths) names.push_back(one.path.str());
  session.say("changed on disk since the transaction read it: " + join_some(names, kMaxNamedPaths) +
              "; " + session.hint("commit -n") + " shows what the commit makes of it");
}

/// Whether the first word is a range of commits. Before other paths, a file of that name is a path.
Result<bool> begins_with_range(Session& session) {
  const std::vector<std::string>& words = session.arguments().words;
  if (!session.arguments().tx.empty() || words.empty() || !is_range(words.front())) return false;
  const auto path = session.path(words.front());
  if (words.size() == 1 || !path) return true;
  GALLEY_ASSIGN(const Workspace* workspace, session.open());
  GALLEY_ASSIGN(const FileStat there, place_of(*workspace).files().stat(*path));
  return there.kind == FileKind::kAbsent;
}

/// Accepts a proposal's whole id or its first digits, as the verdict shows them.
Result<void> check_expected(const Proposal& proposal, const std::string& wanted) {
  constexpr size_t kFewestDigits = 8;
  const bool is_it = !wanted.empty() && proposal.id().hex().starts_with(wanted);
  if (is_it && wanted.size() >= kFewestDigits) return {};
  if (is_it) {
    return fail(ErrorKind::kUsage, "commit.short_proposal",
                fmt::format("'{}' names a proposal with too few digits to say what was reviewed: "
                            "give {} of them or more",
                            wanted, kFewestDigits));
  }
  return fail(ErrorKind::kConflict, "commit.not_what_was_reviewed",
              "what is proposed now is " + proposal.id().hex() + ", not '" + wanted +
                  "'; look at the diff again");
}

/// An approved proposal, with its diff if an open transaction proposes it.
struct Approved {
  ContentId proposal;
  std::string diff;
  std::optional<Proposal> changes;
};

/// Finds the open transaction, of any agent, that proposes this id. Transactions that no process
/// has open are searched first.
Result<std::optional<Approved>> proposed_here(Session& session, Workspace& workspace) {
  GALLEY_ASSIGN(auto stages, workspace.stages());
  std::stable_partition(stages.begin(), stages.end(),
                        [](const Workspace::Stage& stage) { return !stage.is_held; });
  for (const Workspace::Stage& stage : stages) {
    const auto transaction = session.resume(stage.id);
    if (!transaction) continue;
    const Proposal proposal = transaction->proposal();
    if (!check_expected(proposal, session.arguments().proposal)) continue;
    GALLEY_ASSIGN(std::string diff, diff_on_screen(session, proposal));
    return Approved{proposal.id(), std::move(diff), proposal};
  }
  return std::nullopt;
}

/// A refusal names only the proposal, not its transaction. A whole id may also name a proposal
/// outside of all transactions here, for example that of an undo.
Result<Approved> approved_proposal(Session& session, Workspace& workspace) {
  const std::string& wanted = session.arguments().proposal;
  const auto whole = ContentId::from_hex(wanted);
  if (session.arguments().tx.empty()) {
    GALLEY_ASSIGN(auto found, proposed_here(session, workspace));
    if (found) return *std::move(found);
  }
  auto transaction = session.resume();
  if (!transaction && whole) return Approved{*whole, {}, {}};
  if (!transaction && session.arguments().tx.empty()) {
    return fail(ErrorKind::kNotFound, "stage.not_found",
                "no open transaction here proposes '" + wanted +
                    "'; to approve a proposal of another command, give all 64 digits of its id");
  }
  if (!transaction) return fail(transaction.error());
  const Proposal proposal = transaction->proposal();
  if (whole && proposal.id() != *whole) return Approved{*whole, {}, {}};
  GALLEY_TRY(check_expected(proposal, wanted));
  GALLEY_ASSIGN(std::string diff, diff_on_screen(session, proposal));
  return Approved{proposal.id(), std::move(diff), proposal};
}

/// Returns a sentence about owners whose approval the proposal still needs; empty if it needs none,
/// or if its changes are not known here.
Result<std::string> missing_owner(Workspace& workspace, const Approved& approved) {
  if (!approved.changes) return std::string();
  GALLEY_ASSIGN(const auto given,
                find_approval(*persistent_of(workspace).state(), approved.proposal,
                              place_of(workspace).clock().wall_ns()));
  const ProposedTree tree(*approved.changes, place_of(workspace).files());
  const auto rules = FindingRules::of(rules_of(workspace).config, tree);
  if (!rules || !given) return std::string();  // the commit says what is wrong with the files
  return rules->missing_owner(given->by);
}

/// Approves one call of a tool, which its caller then repeats.
Result<int> approve_call(Session& session, Workspace& workspace, const std::string& by) {
  const std::string& wanted = session.arguments().proposal;
  const TransactionOptions who = session.transaction_options();
  if (who.agent.empty()) {
    const StateDirectory* state = persistent_of(workspace).state();
    if (state == nullptr) {
      return fail(ErrorKind::kNotFound, "confirmation.not_found",
                  "no call waits for an approval here");
    }
    GALLEY_ASSIGN(const AskedCall asked,
                  ConfirmationStore(*state).find(wanted, place_of(workspace).clock().wall_ns()));
    GALLEY_TRY(require_person(session, shown_call(asked.question),
                              "Let " + asked.question.id + " run once?"));
  }
  GALLEY_TRY(workspace.confirm(wanted, by, who));
  session.tell({{"schema", "galley.approve/1"}, {"ok", true}, {"call", wanted}, {"by", by}},
               "approved " + wanted + ", once; have the call repeated as it was");
  return kExitDone;
}

/// -n: shows what a commit would do, like preview.
Result<int> preview_transaction(Session& session, Transaction& transaction) {
  Json document = {{"schema", "galley.preview/1"}, {"ok", true}, {"tx", transaction.id()}};
  GALLEY_ASSIGN(Preview preview, transaction.preview(session.gate_progress()));
  const std::string& wanted = session.arguments().proposal;
  CommitRequest request;
  if (!wanted.empty()) {
    GALLEY_TRY(check_expected(preview.proposal, wanted));
    request.expected = preview.proposal.id();
  }
  CommitOutlook outlook;
  if (preview.verdict.is_approved() && !preview.proposal.is_empty()) {
    GALLEY_ASSIGN(outlook, inner(transaction).look_ahead(request));
  }
  if (outlook.merged) preview = *std::move(outlook.merged);
  GALLEY_TRY(show_preview(session, preview, document));
  if (outlook.conflict) return finish_conflict(session, *outlook.conflict, document);
  return finish_verdict(session, preview.verdict, document);
}

Result<int> commit_transaction(Session& session, const std::string& id) {
  GALLEY_ASSIGN(Transaction transaction, session.resume(id));
  if (session.arguments().dry_run) return preview_transaction(session, transaction);
  const std::string& wanted = session.arguments().proposal;
  CommitRequest request;
  if (!wanted.empty()) {
    const Proposal proposal = transaction.proposal();
    GALLEY_TRY(check_expected(proposal, wanted));
    request.expected = proposal.id();
  }
  if (!session.arguments().run.git_commits.empty()) {
    const auto run = run_of(session, transaction.id());
    if (run && run->is_live) {
      return fail(ErrorKind::kRefused, "run.live",
                  "--git-commits settles the git commits of a run that has ended, and a program "
                  "still runs in the transaction " +
                      transaction.id() + ": leave the option out, or end it first: " +
                      session.hint("stop " + transaction.id()));
    }
  }
  GALLEY_ASSIGN(RunCommits commits, RunCommits::of(session, transaction.id()));
  commits.say();
  GALLEY_TRY(commits.wants_keep());
  GALLEY_TRY(commits.copy());
  request.on_progress = session.commit_progress();
  GALLEY_ASSIGN(const CommitOutcome outcome, transaction.commit(request));
  Json document = {{"schema", "galley.commit/1"}, {"ok", true}, {"tx", transaction.id()}};
  bool are_kept = true;
  std::string next;
  const bool is_committed = std::holds_alternative<Receipt>(outcome);
  const bool is_nothing = std::holds_alternative<NothingToCommit>(outcome);
  if (!commits.is_empty() && (is_committed || is_nothing)) {
    are_kept = commits.keep(is_committed);
    if (is_committed) commits.report_dropped();
    document["git_commits"] = commits.json();
  }
  if (is_nothing) {
    next = "transaction " + transaction.id() +
           " stays open; to end it: " + session.hint("rollback --tx " + transaction.id());
    if (!commits.is_empty() && !commits.is_wanted()) {
      next += ", which drops its git commits; to keep them: " +
              session.hint("commit --git-commits keep --tx " + transaction.id());
    }
  }
  if (std::holds_alternative<Conflict>(outcome) && session.arguments().conflict == "markers") {
    GALLEY_ASSIGN(next, stage_markers(session, transaction, outcome.proposal, {}, document));
  }
  GALLEY_ASSIGN(const int status, finish_commit(session, outcome, document));
  if (!next.empty()) session.say(next);
  return are_kept ? status : kExitNo;
}

/// -n: shows what a rollback would drop: everything, or the changes since the savepoint.
Result<int> preview_rollback(Session& session) {
  GALLEY_ASSIGN(Transaction transaction, session.resume());
  const std::string& to = session.arguments().to;
  const Proposal staged = transaction.proposal();
  size_t kept = 0;
  if (!to.empty()) {
    GALLEY_ASSIGN(kept, transaction.changes_at(to));
  }
  if (session.is_json()) {
    session.print(Json{{"schema", "galley.rollback/1"},
                       {"ok", true},
                       {"tx", transaction.id()},
                       {"dry_run", true},
                       {"changes", changes_json(staged.changes())},
                       {"kept", kept}});
    return kExitDone;
  }
  DiffArguments names;
  names.name_status = true;
  GALLEY_TRY(print_changes(session, staged, names));
  session.say(fmt::format("would roll back {}{}: {} staged, {} would be left", transaction.id(),
                          to.empty() ? "" : " to " + to,
                          counted(ShownPaths(staged.changes()).count(), "path"), kept));
  return kExitDone;
}

/// The transactions that other processes have open.
Result<std::vector<std::string>> held_transactions(Session& session) {
  GALLEY_ASSIGN(const Workspace* workspace, session.open());
  GALLEY_ASSIGN(const auto stages, workspace->stages());
  std::vector<std::string> held;
  for (const StageStatus& stage : stages) {
    if (stage.is_held) held.push_back(stage.id);
  }
  return held;
}

/// A person can drop a transaction that cannot be read by naming it.
Result<std::string> roll_back(Session& session) {
  const Arguments& arguments = session.arguments();
  const auto held = held_transactions(session);
  auto transaction = session.resume();
  if (transaction) {
    const std::string id = transaction->id();
    GALLEY_TRY(arguments.to.empty() ? transaction->rollback()
                                    : transaction->rollback_to(arguments.to));
    // The other process is not told.
    if (held && std::find(held->begin(), held->end(), id) != held->end()) {
      session.say("another process had it open; what that process staged is dropped, too");
    }
    return id;
  }
  const bool may_drop = transaction.error().reason == "stage.damaged" && arguments.to.empty() &&
                        !arguments.tx.empty() && arguments.global.agent.empty();
  if (!may_drop) return fail(transaction.error());
  GALLEY_ASSIGN(Workspace * workspace, session.open());
  GALLEY_TRY(workspace->drop_damaged(arguments.tx));
  return arguments.tx;
}

/// Drops a fork that was not picked.
void drop_rival(Session& session, const std::string& id) {
  auto rival = session.resume(id);
  if (!rival && rival.error().kind == ErrorKind::kNotFound) return;  // already closed
  const auto dropped = rival ? rival->rollback() : fail(rival.error());
  if (dropped) return session.say("dropped " + id);
  session.print_error_lines("warning: " + id +
                            " was not dropped: " + printable_line(dropped.error().message) + "\n");
}

}  // namespace

Result<int> run_savepoint(Session& session) {
  GALLEY_ASSIGN(Transaction transaction, session.resume());
  const std::string& name = session.arguments().name;
  GALLEY_TRY(transaction.savepoint(name));
  session.tell(
      {{"schema", "galley.savepoint/1"}, {"ok", true}, {"tx", transaction.id()}, {"name", name}},
      "savepoint " + name);
  return kExitDone;
}

Result<int> run_fork(Session& session) {
  GALLEY_ASSIGN(Transaction parent, session.resume());
  GALLEY_ASSIGN(const Transaction child, parent.fork());
  session.remember("transaction " + child.id() + " is open");
  session.print(
      Json{{"schema", "galley.fork/1"}, {"ok", true}, {"tx", child.id()}, {"parent", parent.id()}},
      child.id() + "\n");
  return kExitDone;
}

Result<int> run_pick(Session& session) {
  GALLEY_ASSIGN(Workspace * workspace, session.open());
  std::string id = session.arguments().id;
  std::vector<std::string> family;
  {
    GALLEY_ASSIGN(const Transaction transaction, session.resume(id));
    id = transaction.id();
    const StateDirectory& state = *persistent_of(*workspace).state();
    GALLEY_ASSIGN(const auto directory, state.root().open_directory(state.own("stage")));
    GALLEY_ASSIGN(family, forks_of(*directory, transaction.id()));
  }
  GALLEY_ASSIGN(const int status, commit_transaction(session, id));
  if (status != kExitDone) return status;
  if (session.arguments().dry_run) {
    for (const std::string& rival : family) {
      if (rival != id) session.say("would drop " + rival);
    }
    return status;
  }
  // The commit is done, so a rival that stays is a warning.
  for (const std::string& rival : family) {
    if (rival != id) drop_rival(session, rival);
  }
  return status;
}

Result<int> run_begin(Session& session) {
  GALLEY_ASSIGN(Workspace * workspace, session.open());
  GALLEY_ASSIGN(const auto stages, workspace->stages());
  std::vector<std::string> others;
  for (const StageStatus& stage : stages) {
    if (stage.is_own(session.arguments().global.agent)) others.push_back(stage.id);
  }
  GALLEY_ASSIGN(Transaction transaction, workspace->begin_stored(session.transaction_options()));
  GALLEY_TRY(transaction.save());
  session.remember("transaction " + transaction.id() + " is open");
  session.print({{"schema", "galley.begin/1"}, {"ok", true}, {"tx", transaction.id()}},
                transaction.id() + "\n");
  if (!others.empty()) {
    session.say(fmt::format("{} of yours {} open already: {}; commands need --tx now",
                            counted(others.size(), "transaction"),
                            others.size() == 1 ? "is" : "are", fmt::join(others, ", ")));
  }
  const bool is_on_branch = !session.arguments().global.repository.empty();
  session.say("stage with: " + session.hint("stage FILE") + (is_on_branch ? "" : ", edit PATH") +
              ", call TOOL JSON, exec -- COMMAND; then: " + session.hint("diff") + ", " +
              session.hint("commit"));
  return kExitDone;
}

namespace {

/// Whether `id` means a transaction that cannot be read, which `status` lists apart.
bool names_unreadable(const Json& document, const std::string& id) {
  const Json unreadable = document.value("unreadable", Json::array());
  return std::any_of(unreadable.begin(), unreadable.end(), [&id](const Json& one) {
    return one.get_ref<const std::string&>().starts_with(id);
  });
}

}  // namespace

Result<int> run_status(Session& session) {
  GALLEY_ASSIGN(Workspace * workspace, session.open());
  GALLEY_ASSIGN(auto stages, workspace->stages());
  Json document = {{"schema", "galley.status/1"}, {"ok", true}, {"root", workspace->root_path()}};
  GALLEY_ASSIGN(const std::string unreadable,
                unreadable_text(session, *workspace, stages, document));
  const std::string& agent = session.arguments().global.agent;
  if (const std::string& wanted = session.arguments().tx; !wanted.empty()) {
    const std::string id = id_of_transaction(*workspace, wanted);
    std::erase_if(stages, [&](const auto& stage) { return !stage.id.starts_with(id); });
    if (stages.empty() && !names_unreadable(document, id)) GALLEY_TRY(workspace->resume(id, agent));
  }
  std::stable_sort(stages.begin(), stages.end(), [&](const auto& a, const auto& b) {
    return a.is_own(agent) && !b.is_own(agent);
  });
  const StageStatus* shown = shown_stage(session, stages);
  document["transactions"] = Json::array();
  std::string text;
  std::string damage;
  size_t named = 0;
  if (const StateDirectory* state = persistent_of(*workspace).state()) {
    GALLEY_ASSIGN(damage, damage_text(*state, {}, document));
  }
  damage += unreadable;
  for (const StageStatus& stage : stages) {
    std::optional<Transaction> opened;
    if (&stage == shown && !stage.is_held) {
      auto resumed = workspace->resume(stage.id, agent);
      if (!resumed && is_stage_gone(resumed.error())) continue;
      if (!resumed) return fail(resumed.error());
      opened.emplace(*std::move(resumed));
    }
    document["transactions"].push_back(stage_json(stage, agent));
    text += stage_text(stage, agent);
    if (const auto run = run_of(session, stage.id)) {
      document["transactions"].back()["run"] = run_json(*run);
      text += run_text(session, *run);
    }
    const bool is_one_of_several = shown == nullptr && stage.is_own(agent) && !stage.is_held;
    if (is_one_of_several && !session.is_json() && ++named <= kMaxNamedStages) {
      GALLEY_ASSIGN(const std::string paths, first_paths(session, stage));
      text += paths;
    }
    if (!opened) continue;
    const Proposal proposal = opened->proposal();
    document["tx"] = opened->id();
    document["changes"] = changes_json(proposal.changes());
    if (!session.is_json()) {
      GALLEY_ASSIGN(const std::string listing, render_names(proposal));
      text += listing;
    }
    for (const ReviewComment& one : inner(*opened).comments()) {
      document["comments"].push_back({{"on", one.on}, {"text", one.text}});
      text += fmt::format("comment on {}: {}\n", printable_line(one.on), printable_line(one.text));
    }
  }
  session.print(document, text);
  if (session.is_json()) return kExitDone;
  if (!damage.empty()) session.print_error_lines(damage);
  if (!document["transactions"].empty()) return kExitDone;
  session.say(session.arguments().tx.empty()
                  ? "no transaction is open in " + workspace->root_path()
                  : "no open transaction begins with '" + session.arguments().tx + "'");
  return kExitDone;
}

Result<int> run_diff(Session& session) {
  if (!session.arguments().turn.empty()) return diff_of_turn(session);
  const std::vector<std::string>& words = session.arguments().words;
  GALLEY_ASSIGN(const bool is_of_range, begins_with_range(session));
  if (is_of_range) {
    return diff_of_range(session, words.front(), {words.begin() + 1, words.end()});
  }
  auto resumed = session.resume();
  if (!resumed && !words.empty() && resumed.error().reason == "stage.not_found") {
    resumed.error().message += ". To compare commits of git: galley diff A..B";
  }
  GALLEY_ASSIGN(Transaction transaction, std::move(resumed));
  GALLEY_ASSIGN(const auto paths, session.paths(session.arguments().words));
  const Proposal whole = transaction.proposal();
  GALLEY_TRY(check_names(session, whole));
  const Proposal proposal = part_below(whole, paths);
  say_changed_since(session, proposal);
  if (!session.arguments().diff.html.empty()) {
    GALLEY_TRY(write_diff_report(session, transaction, paths));
  }
  return tell_diff(session, whole, proposal,
                   {{"schema", "galley.diff/1"}, {"ok", true}, {"tx", transaction.id()}});
}

Result<int> run_approve(Session& session) {
  const Arguments& arguments = session.arguments();
  GALLEY_ASSIGN(Workspace * workspace, session.open());
  if (arguments.proposal.starts_with(kCallIdStart)) {
    return approve_call(session, *workspace,
                        arguments.name.empty() ? "the command line" : arguments.name);
  }
  GALLEY_ASSIGN(const Approved approved, approved_proposal(session, *workspace));
  const ContentId& proposal = approved.proposal;
  const std::string by = arguments.name.empty() ? "the command line" : arguments.name;
  const TransactionOptions who = session.transaction_options();
  // An agent is refused on record, without a question.
  if (!who.agent.empty()) return fail(workspace->approve(proposal, by, who).error());
  GALLEY_TRY(require_person(
      session, "", "Approve proposal " + proposal.hex() + " and nothing else?", approved.diff));
  GALLEY_TRY(workspace->approve(proposal, by, who));
  const auto missing = missing_owner(*workspace, approved);  // the approval counts in any case
  Json document = {
      {"schema", "galley.approve/1"}, {"ok", true}, {"proposal", proposal.hex()}, {"by", by}};
  if (missing && !missing->empty()) document["missing"] = *missing;
  session.tell(document, "approved " + proposal.hex() +
                             " and nothing else; one more staged byte makes it void");
  if (!missing)
    session.say("warning: cannot tell who else must approve: " + missing.error().message);
  if (!missing || missing->empty()) return kExitDone;
  session.say(fmt::format("{} is recorded, but that is not enough: {}. One of them runs: {}", by,
                          *missing,
                          session.hint(fmt::format("approve {} --by NAME", proposal.hex()))));
  return kExitDone;
}

Result<int> run_commit(Session& session) {
  return commit_transaction(session, session.arguments().tx);
}

Result<int> run_rollback(Session& session) {
  if (!session.arguments().execution.empty()) return rollback_execution(session);
  if (session.arguments().dry_run) return preview_rollback(session);
  GALLEY_ASSIGN(const std::string id, roll_back(session));
  const std::string& to = session.arguments().to;
  session.tell({{"schema", "galley.rollback/1"}, {"ok", true}, {"tx", id}},
               "rolled back " + id + (to.empty() ? "" : " to " + to));
  return kExitDone;
}

}  // namespace galley
