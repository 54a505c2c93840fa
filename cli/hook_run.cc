#include "cli/hook_run.h"

#include <string>
#include <string_view>
#include <vector>

#include "base/printable.h"
#include "cli/hook_judgement.h"
#include "engine/git_hooks/commit_contents.h"
#include "engine/git_hooks/commit_links.h"
#include "engine/git_hooks/trailers.h"

namespace galley {
namespace {

/// The transactions that a commit takes over; none where nothing was ever committed by Galley.
Result<std::vector<ContributingTransaction>> contributors(
    Session& session, const GitProgram& git, const std::vector<GitRawChange>& changes) {
  GALLEY_ASSIGN(const Workspace* workspace, session.open_without_recovery());
  if (workspace->inside().state() == nullptr) return std::vector<ContributingTransaction>();
  return contributing_transactions(History(*workspace->inside().state()), git, changes);
}

Result<bool> is_merging(const GitProgram& git) {
  GALLEY_ASSIGN(const PipedOutput said,
                git.try_run({"rev-parse", "--verify", "--quiet", "MERGE_HEAD"}));
  return said.status == 0;
}

Result<int> put_trailers(Session& session) {
  const auto& words = session.arguments().words;
  if (words.empty()) {
    return fail(ErrorKind::kUsage, "hook.arguments",
                "the hook '" + session.arguments().name + "' is given the file of the message");
  }
  const GitProgram git;
  // What a merge brings was written by others, elsewhere.
  GALLEY_ASSIGN(const bool merges, is_merging(git));
  if (merges) return kExitDone;
  GALLEY_ASSIGN(const auto changes, staged_changes(git));
  GALLEY_ASSIGN(const auto transactions, contributors(session, git, changes));
  GALLEY_TRY(add_trailers(git, words.front(), transactions));
  return kExitDone;
}

Result<int> link_commit(Session& session) {
  const GitProgram git;
  GALLEY_ASSIGN(std::string head, git.run({"rev-parse", "--verify", "HEAD^{commit}"}));
  while (head.ends_with('\n')) head.pop_back();
  GALLEY_ASSIGN(const auto changes, committed_changes(git, head));
  GALLEY_ASSIGN(const auto transactions, contributors(session, git, changes));
  if (transactions.empty()) return kExitDone;
  GALLEY_ASSIGN(const Workspace* workspace, session.open_without_recovery());
  GALLEY_TRY(record_commit_links(*workspace, head, transactions));
  return kExitDone;
}

/// What only notes something must not keep a commit from being made.
Result<int> without_refusal(Session& session, const Result<int>& status) {
  const bool is_failure = !status && status.error().kind != ErrorKind::kUsage;
  if (!is_failure) return status;
  session.say_wrong("galley: the hook " + session.arguments().name +
                    " noted nothing: " + printable_line(status.error().message) + "\n");
  return kExitDone;
}

}  // namespace

Result<int> run_git_hook(Session& session) {
  const std::string& name = session.arguments().name;
  if (name == "prepare-commit-msg" || name == "commit-msg") {
    return without_refusal(session, put_trailers(session));
  }
  if (name == "pre-commit") return judge_staged(session);
  if (name == "post-commit") return without_refusal(session, link_commit(session));
  return judge_push(session);
}

}  // namespace galley
