#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "cli/commands.h"
#include "cli/outcome.h"
#include "cli/person.h"
#include "cli/render.h"
#include "engine/commit/state_directory.h"
#include "engine/history/history.h"
#include "engine/pipeline/savepoints.h"
#include "staging/overlay/proposal_diff.h"

namespace galley {
namespace {

Json stage_json(const StageStatus& stage) {
  return {{"tx", stage.id},           {"agent", stage.agent},
          {"message", stage.message}, {"begun", rfc3339_utc(stage.begun_ns)},
          {"changes", stage.changes}, {"held", stage.is_held}};
}

std::string stage_text(const StageStatus& stage) {
  std::string text = fmt::format("transaction {}  begun {}  {} paths{}\n", printable_line(stage.id),
                                 rfc3339_utc(stage.begun_ns), stage.changes,
                                 stage.is_held ? "  (another process has it open)" : "");
  if (!stage.agent.empty()) text += "    by " + printable_line(stage.agent) + "\n";
  if (!stage.message.empty()) text += "    " + printable_line(stage.message) + "\n";
  return text;
}

Result<int> begin(Session& session) {
  GALLEY_ASSIGN(Workspace * workspace, session.open());
  GALLEY_ASSIGN(Transaction transaction, workspace->begin_stored(session.transaction_options()));
  GALLEY_TRY(transaction.save());
  session.remember("transaction " + transaction.id() + " is open");
  if (session.is_json()) {
    session.print(Json{{"schema", "galley.begin/1"}, {"ok", true}, {"tx", transaction.id()}});
    return kExitDone;
  }
  session.print(transaction.id() + "\n");
  session.say("stage with: " + session.hint("stage FILE") +
              ", edit PATH, call TOOL JSON, exec -- " + "COMMAND; then: " + session.hint("diff") +
              ", " + session.hint("commit"));
  return kExitDone;
}

Result<int> status(Session& session) {
  GALLEY_ASSIGN(Workspace * workspace, session.open());
  GALLEY_ASSIGN(auto stages, workspace->stages());
  const std::string& wanted = session.arguments().tx;
  const size_t open = stages.size();
  if (!session.arguments().all) {
    std::erase_if(stages, [&](const StageStatus& stage) {
      return wanted.empty() ? !stage.is_own(session.arguments().global.agent) : stage.id != wanted;
    });
  }
  Json document = {{"schema", "galley.status/1"}, {"ok", true}, {"root", workspace->root_path()}};
  document["transactions"] = Json::array();
  std::string text;
  for (const StageStatus& stage : stages) {
    document["transactions"].push_back(stage_json(stage));
    text += stage_text(stage);
  }
  if (stages.size() == 1 && !stages.front().is_held) {
    GALLEY_ASSIGN(Transaction transaction, session.resume(stages.front().id));
    const Proposal proposal = Proposal::freeze(transaction.overlay());
    document["tx"] = transaction.id();
    document["changes"] = changes_json(proposal.changes());
    DiffArguments names;
    names.name_status = true;
    GALLEY_ASSIGN(const std::string listing, render_changes(proposal, names, {}));
    text += listing;
  }
  if (session.is_json()) {
    session.print(document);
    return kExitDone;
  }
  session.print(text);
  if (open == 0) session.say("no transaction is open in " + workspace->root_path());
  if (wanted.empty() && stages.size() < open) {
    session.say(
        fmt::format("{} more, of others: {}", open - stages.size(), session.hint("status --all")));
  }
  return kExitDone;
}

Result<int> diff(Session& session) {
  GALLEY_ASSIGN(Transaction transaction, session.resume());
  const Proposal proposal = Proposal::freeze(transaction.overlay());
  if (!session.is_json()) {
    GALLEY_TRY(print_changes(session, proposal, session.arguments().diff));
    return kExitDone;
  }
  Json document = {{"schema", "galley.diff/1"}, {"ok", true}, {"tx", transaction.id()}};
  document["proposal"] = proposal.id().hex();
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
  return kExitDone;
}

/// A proposal's id in full or its first digits, as the verdict shows them.
Result<void> check_expected(const Proposal& proposal, const std::string& wanted) {
  constexpr size_t kFewestDigits = 8;
  if (wanted.size() >= kFewestDigits && proposal.id().hex().starts_with(wanted)) return {};
  return fail(ErrorKind::kConflict, "commit.not_what_was_reviewed",
              "what is proposed now is " + proposal.id().hex() + ", not '" + wanted +
                  "'; look at the diff again");
}

/// What is approved, and its diff where it is what an open transaction proposes.
struct Approved {
  ContentId proposal;
  std::string diff;
};

/// The id in full, also of a proposal that no transaction here holds; else the open one's.
Result<Approved> approved_proposal(Session& session) {
  const std::string& wanted = session.arguments().proposal;
  const auto whole = ContentId::from_hex(wanted);
  auto transaction = session.resume();
  if (!transaction && whole) return Approved{*whole, {}};
  if (!transaction) return fail(transaction.error());
  const Proposal proposal = Proposal::freeze(transaction->overlay());
  if (whole && proposal.id() != *whole) return Approved{*whole, {}};
  GALLEY_TRY(check_expected(proposal, wanted));
  GALLEY_ASSIGN(std::string diff, diff_on_screen(session, proposal));
  return Approved{proposal.id(), std::move(diff)};
}

Result<int> approve(Session& session) {
  const Arguments& arguments = session.arguments();
  if (!arguments.global.agent.empty()) {
    return fail(ErrorKind::kRefused, "approval.by_agent",
                "an agent does not approve; have a person say it, without --agent");
  }
  GALLEY_ASSIGN(Workspace * workspace, session.open());
  GALLEY_ASSIGN(const Approved approved, approved_proposal(session));
  const ContentId& proposal = approved.proposal;
  const std::string by = arguments.name.empty() ? "the command line" : arguments.name;
  GALLEY_TRY(need_person(session, "", "Approve proposal " + proposal.hex() + " and nothing else?",
                         approved.diff));
  GALLEY_TRY(workspace->approve(proposal, by));
  if (session.is_json()) {
    session.print(Json{
        {"schema", "galley.approve/1"}, {"ok", true}, {"proposal", proposal.hex()}, {"by", by}});
  }
  session.say("approved " + proposal.hex() +
              " and nothing else; one more staged byte makes it void");
  return kExitDone;
}

Result<int> commit_transaction(Session& session, Workspace& workspace, const std::string& id) {
  GALLEY_ASSIGN(Transaction transaction, session.resume(id));
  const Proposal proposal = Proposal::freeze(transaction.overlay());
  const std::string& wanted = session.arguments().proposal;
  CommitRequest request;
  if (!wanted.empty()) {
    GALLEY_TRY(check_expected(proposal, wanted));
    request.expected = proposal.id();
  }
  request.on_progress = session.gate_progress();
  GALLEY_ASSIGN(const CommitOutcome outcome, transaction.commit(request));
  Json document = {{"schema", "galley.commit/1"}, {"ok", true}, {"tx", transaction.id()}};
  const auto* receipt = std::get_if<Receipt>(&outcome);
  if (std::holds_alternative<Conflict>(outcome) && session.arguments().conflict == "markers") {
    GALLEY_TRY(stage_markers(session, transaction, proposal, {}, document));
  }
  if (receipt == nullptr) return finish_commit(session, outcome, proposal, document);
  // The stage with its contents is gone: the history has them now.
  GALLEY_ASSIGN(const Proposal committed, History(*workspace.state()).proposal_of(receipt->id));
  return finish_commit(session, outcome, committed, document);
}

Result<int> commit(Session& session) {
  GALLEY_ASSIGN(Workspace * workspace, session.open());
  return commit_transaction(session, *workspace, session.arguments().tx);
}

/// One that cannot be read can still be dropped by a person who names it.
Result<std::string> roll_back(Session& session) {
  const Arguments& arguments = session.arguments();
  auto transaction = session.resume();
  if (transaction) {
    const std::string id = transaction->id();
    GALLEY_TRY(arguments.to.empty() ? transaction->rollback()
                                    : transaction->rollback_to(arguments.to));
    return id;
  }
  const bool may_drop = transaction.error().reason == "stage.damaged" && arguments.to.empty() &&
                        !arguments.tx.empty() && arguments.global.agent.empty();
  if (!may_drop) return fail(transaction.error());
  GALLEY_ASSIGN(Workspace * workspace, session.open());
  GALLEY_TRY(workspace->drop_damaged(arguments.tx));
  return arguments.tx;
}

Result<int> rollback(Session& session) {
  GALLEY_ASSIGN(const std::string id, roll_back(session));
  const std::string& to = session.arguments().to;
  if (session.is_json()) {
    session.print(Json{{"schema", "galley.rollback/1"}, {"ok", true}, {"tx", id}});
  }
  session.say(to.empty() ? "rolled back " + id : "rolled back " + id + " to " + to);
  return kExitDone;
}

Result<int> savepoint(Session& session) {
  GALLEY_ASSIGN(Transaction transaction, session.resume());
  const std::string& name = session.arguments().name;
  GALLEY_TRY(transaction.savepoint(name));
  if (session.is_json()) {
    session.print(Json{
        {"schema", "galley.savepoint/1"}, {"ok", true}, {"tx", transaction.id()}, {"name", name}});
  }
  session.say("savepoint " + name);
  return kExitDone;
}

Result<int> fork(Session& session) {
  GALLEY_ASSIGN(Transaction parent, session.resume());
  GALLEY_ASSIGN(const Transaction child, parent.fork());
  session.remember("transaction " + child.id() + " is open");
  if (session.is_json()) {
    session.print(Json{
        {"schema", "galley.fork/1"}, {"ok", true}, {"tx", child.id()}, {"parent", parent.id()}});
  } else {
    session.print(child.id() + "\n");
  }
  return kExitDone;
}

/// The others that came from the same fork lose: their stages go.
Result<std::vector<std::string>> drop_rivals(Session& session,
                                             const std::vector<std::string>& family,
                                             const std::string& winner) {
  std::vector<std::string> dropped;
  for (const std::string& id : family) {
    if (id == winner) continue;
    auto rival = session.resume(id);
    if (!rival && rival.error().kind == ErrorKind::kNotFound) continue;  // over already
    if (!rival) return fail(rival.error());
    GALLEY_TRY(rival->rollback());
    dropped.push_back(id);
  }
  return dropped;
}

Result<int> pick(Session& session) {
  GALLEY_ASSIGN(Workspace * workspace, session.open());
  const std::string& id = session.arguments().id;
  std::vector<std::string> family;
  {
    GALLEY_ASSIGN(const Transaction transaction, session.resume(id));
    GALLEY_ASSIGN(const RelPath stages, RelPath::parse("stage"));
    GALLEY_ASSIGN(const auto directory, workspace->state()->root().open_directory(stages));
    GALLEY_ASSIGN(family, family_of(*directory, transaction.id()));
  }
  GALLEY_ASSIGN(const int status, commit_transaction(session, *workspace, id));
  if (status != kExitDone) return status;
  GALLEY_ASSIGN(const auto dropped, drop_rivals(session, family, id));
  for (const std::string& rival : dropped) session.say("dropped " + rival);
  return status;
}

}  // namespace

int run_savepoint(Session& session) { return session.finish(savepoint(session)); }
int run_fork(Session& session) { return session.finish(fork(session)); }
int run_pick(Session& session) { return session.finish(pick(session)); }
int run_begin(Session& session) { return session.finish(begin(session)); }
int run_status(Session& session) { return session.finish(status(session)); }
int run_diff(Session& session) { return session.finish(diff(session)); }
int run_approve(Session& session) { return session.finish(approve(session)); }
int run_commit(Session& session) { return session.finish(commit(session)); }
int run_rollback(Session& session) { return session.finish(rollback(session)); }

}  // namespace galley
