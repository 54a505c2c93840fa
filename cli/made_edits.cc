#include "cli/made_edits.h"

#include <optional>

#include "base/shell_word.h"
#include "engine/commit/outcome.h"
#include "engine/pipeline/place.h"
#include "engine/pipeline/workspace_state.h"
#include "server/session/call_results.h"

namespace galley {
namespace {

/// Another call of the agent may change a file while an edit of it is recorded.
constexpr int kRecordTries = 5;

std::string path_of(const AgentSession::MadeEdit& made) {
  return made.change.is_empty() ? std::string() : made.change.changes().back().path.str();
}

/// Records an edit. Returns why it is not on record: empty if it is, nothing if the file changed
/// meanwhile.
Result<std::optional<std::string>> commit_edit(const EditedWorkspace& edited,
                                               const AgentSession::MadeEdit& made) {
  Workspace& workspace = edited.workspace;
  const std::string path = path_of(made);
  const CommitRequest commit{.tool = made.meta.tool, .is_in_place = true};
  TransactionOptions who = edited.session.transaction_options();
  who.agent = made.meta.agent;
  who.session = made.meta.session;
  who.message = made.meta.message.empty() ? commit.tool + " " + path : made.meta.message;
  const auto refusal = [&](const Verdict& verdict) {
    return "'" + path + "' was written in another way than it was judged, and it is refused now: " +
           verdict_summary(verdict) + "; put it right. Galley did not record this edit";
  };
  if (!made.problem.empty()) {
    if (path.empty()) return made.problem + ", so it is not on record";
    GALLEY_ASSIGN(const Preview preview, workspace.judge(made.change, who));
    if (!preview.verdict.is_approved()) return refusal(preview.verdict);
    return made.problem + ". Galley did not record this edit";
  }
  if (made.change.is_empty()) return std::string();
  GALLEY_ASSIGN(const CommitOutcome outcome, workspace.commit(made.change, who, commit));
  if (const auto* refused = std::get_if<Refused>(&outcome))
    return refusal(refused->preview.verdict);
  if (std::holds_alternative<Conflict>(outcome)) return std::optional<std::string>();
  return std::string();
}

Result<std::optional<AgentSession::MadeEdit>> made_edit(const Workspace& workspace,
                                                        const AgentSession& agent,
                                                        const AgentSession::EditName& edit,
                                                        AgentSession::EditReport report) {
  return agent.made_edit(edit, report, place_of(workspace).files(), place_of(workspace).clock());
}

}  // namespace

Result<std::string> record_edit(const EditedWorkspace& edited, const AgentSession::EditName& edit,
                                AgentSession::EditReport report) {
  const AgentSession& agent = edited.agent;
  GALLEY_ASSIGN(const auto held, agent.hold_edit(edit));
  if (held == nullptr) return std::string();
  Result<std::string> words = std::string();
  for (int tries = 0; tries < kRecordTries; ++tries) {
    const auto made = made_edit(edited.workspace, agent, edit, report);
    if (made && !*made) return std::string();
    const auto said = made ? commit_edit(edited, **made) : fail(made.error());
    words = said ? Result<std::string>(said->value_or(
                       "'" + path_of(**made) +
                       "' changed again while Galley recorded this edit, so it is not "
                       "on record"))
                 : fail(said.error());
    if (words && made && !(*made)->problem.empty()) {
      GALLEY_ASSIGN(const auto kept, agent.rescue_old(edit, **made));
      for (const std::string& name : kept) {
        *words += "; what it held before is kept: galley rescue show " + shell_word(name);
      }
    }
    if (!said || *said) break;
  }
  // After a failure what is kept stays, so that a repeated report can record it.
  if (words) GALLEY_TRY(agent.forget_edit(edit));
  if (words && words->empty()) return words;
  GALLEY_TRY(agent.lose_edit(edit));
  edited.session.say(words ? *words : words.error().message);
  return words;
}

Result<void> settle_edits(const EditedWorkspace& edited, MissedEdits which) {
  constexpr auto kMissing = AgentSession::EditReport::kMissing;
  for (const AgentSession::EditName& edit : edited.agent.kept_edits()) {
    GALLEY_ASSIGN(const auto made, made_edit(edited.workspace, edited.agent, edit, kMissing));
    const bool is_made = made && (!made->change.is_empty() || !made->problem.empty());
    if (!is_made || (which == MissedEdits::kClear && !made->problem.empty())) continue;
    GALLEY_TRY(record_edit(edited, edit, kMissing));
  }
  return {};
}

size_t missed_edits(Workspace& workspace, const AgentSession& agent) {
  size_t missed = 0;
  for (const AgentSession::EditName& edit : agent.kept_edits()) {
    const auto made = made_edit(workspace, agent, edit, AgentSession::EditReport::kMissing);
    if (made && *made && !(*made)->change.is_empty()) ++missed;
  }
  return missed;
}

}  // namespace galley
