#include "cli/hook_judgement.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/printable.h"
#include "cli/person.h"
#include "cli/render.h"
#include "engine/check/git_check.h"
#include "engine/git_hooks/commit_contents.h"
#include "engine/git_hooks/ref_updates.h"
#include "staging/fs/host_file.h"

namespace galley {

namespace {

/// Room for this many references with the longest names.
constexpr uint64_t kMaxInputBytes = uint64_t{64} << 20U;
/// The first refused references of a push are named.
constexpr size_t kMostNamed = 10;

/// The text of one judgement, and whether it approves.
struct HookAnswer {
  bool is_yes = false;
  bool is_about_nothing = false;  ///< no file changes
  std::string text;               ///< with the notices; may be empty
  Json document;
};

/// Without `repository`, judges the current one.
Result<HookAnswer> judge_source(Session& session, const CheckSource& source,
                                std::optional<GitAccess> repository = {}) {
  CheckOptions options;
  options.repository = std::move(repository);
  options.who = session.transaction_options();
  options.config_file = session.arguments().global.config;
  options.approver = approver_at_terminal(session);
  session.terminal().work_on("reading the repository");
  GALLEY_ASSIGN(const auto check, GitCheck::open(source, std::move(options)));
  GALLEY_ASSIGN(const Preview preview, check->judge(session.gate_progress()));
  HookAnswer answer;
  answer.is_yes = preview.verdict.is_approved();
  answer.is_about_nothing = preview.proposal.is_empty();
  for (const std::string& notice : check->notices()) {
    answer.text += "galley: " + printable_line(notice) + "\n";
  }
  const bool is_told = !answer.is_yes || !preview.verdict.findings.empty();
  if (is_told) {
    answer.text +=
        session.with_hints(verdict_text(preview.verdict, session.terminal().has_error_color()));
  }
  answer.document = verdict_json(preview.verdict);
  return answer;
}

void say(Session& session, const std::string& text) {
  if (!session.is_json()) session.terminal().print_message(text);
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// pre-commit (the framework) reads the lines itself and describes the push in the environment.
/// Without PRE_COMMIT_TO_REF everything is new to the remote.
Result<std::vector<RefUpdate>> updates_of_framework(const GitProgram& git) {
  std::string to = variable("PRE_COMMIT_TO_REF");
  if (to.empty()) to = variable("PRE_COMMIT_LOCAL_BRANCH");
  if (to.empty()) to = "HEAD";
  GALLEY_ASSIGN(const std::string id, git.run({"rev-parse", "--verify", to + "^{commit}"}));
  std::string ref = variable("PRE_COMMIT_REMOTE_BRANCH");
  if (ref.empty()) ref = to;
  return std::vector<RefUpdate>{
      {ref, variable("PRE_COMMIT_FROM_REF"), id.substr(0, id.find('\n'))}};
}

bool is_in_framework() {
  return variable("PRE_COMMIT") == "1" && !variable("PRE_COMMIT_REMOTE_NAME").empty();
}

/// The updates of this push, and the commits that the remote has.
struct Push {
  std::vector<RefUpdate> updates;
  KnownCommits known;
};

Result<Push> read_push(Session& session, const GitProgram& git) {
  const Arguments& arguments = session.arguments();
  Push push;
  push.known = known_on_server();
  if (arguments.name == "update") {
    GALLEY_ASSIGN(RefUpdate update, parse_update(arguments.words));
    push.updates.push_back(std::move(update));
    return push;
  }
  const bool is_client = arguments.name == "pre-push";
  if (is_client) {
    const bool is_named = !arguments.words.empty();
    GALLEY_ASSIGN(push.known, known_of_remote(git, is_named ? arguments.words.front()
                                                            : variable("PRE_COMMIT_REMOTE_NAME")));
  }
  if (is_client && is_in_framework()) {
    GALLEY_ASSIGN(push.updates, updates_of_framework(git));
    return push;
  }
  GALLEY_ASSIGN(const std::string lines,
                session.read_input("-", "the updated references", kMaxInputBytes));
  GALLEY_ASSIGN(push.updates, is_client ? parse_pushed_refs(lines) : parse_received_refs(lines));
  return push;
}

CheckSource push_source(const PushRange& range) {
  CheckSource source;
  source.kind = CheckSource::Kind::kRange;
  source.from = range.from;
  source.to = range.to;
  source.rules = range.rules;
  source.is_direct = true;
  source.known = range.known;
  source.same = range.same;
  return source;
}

/// Prints one heading per reference, and its text below it.
void tell(Session& session, const std::string& ref, bool is_yes, const std::string& text) {
  if (text.empty()) return;
  say(session,
      fmt::format("galley: {}{}\n{}", printable_line(ref), is_yes ? "" : " is refused", text));
}

}  // namespace

Result<bool> is_merging(const GitProgram& git) {
  GALLEY_ASSIGN(const PipedOutput said,
                git.try_run({"rev-parse", "--verify", "--quiet", "MERGE_HEAD"}));
  return said.status == 0;
}

namespace {

/// The commits that `git merge` is merging. It writes MERGE_HEAD after the hook pre-merge-commit.
/// A hook of a merge in another repository passes on the commits of that merge, too.
Result<std::vector<std::string>> commits_of_merge(const GitProgram& git) {
  constexpr std::string_view kName = "GITHEAD_";
  std::vector<std::string> commits;
  for (char** one = environ; *one != nullptr; ++one) {
    const std::string_view name =
        std::string_view(*one).substr(0, std::string_view(*one).find('='));
    if (!name.starts_with(kName)) continue;
    const std::string id(name.substr(kName.size()));
    const bool is_id = (id.size() == 40 || id.size() == 64) &&
                       id.find_first_not_of("0123456789abcdef") == std::string::npos;
    if (!is_id) continue;
    GALLEY_ASSIGN(const PipedOutput found,
                  git.try_run({"rev-parse", "--verify", "--quiet", id + "^{commit}"}));
    if (found.status == 0) commits.push_back(id);
  }
  return commits;
}

/// Judges what pre-commit (the framework) was given: in CI a range, else the index.
Result<HookAnswer> judge_commit(Session& session) {
  CheckSource source;
  if (session.arguments().name == "pre-merge-commit") {
    GALLEY_ASSIGN(source.known, commits_of_merge(GitProgram()));
  }
  // git gives its hooks an index, also for a commit without changes.
  const bool is_commit = variable("PRE_COMMIT") != "1" || !variable("GIT_INDEX_FILE").empty();
  if (!is_commit && !variable("PRE_COMMIT_TO_REF").empty()) {
    source.kind = CheckSource::Kind::kRange;
    source.from = variable("PRE_COMMIT_FROM_REF");
    source.to = variable("PRE_COMMIT_TO_REF");
  }
  GALLEY_ASSIGN(HookAnswer answer, judge_source(session, source));
  if (!answer.is_about_nothing || is_commit || source.kind != CheckSource::Kind::kStaged) {
    return answer;
  }
  say(session, answer.text);
  return fail(ErrorKind::kRefused, "hook.nothing_staged",
              "nothing is staged, so nothing was judged; give pre-commit a range: --from-ref A "
              "--to-ref B, or run: galley check --range A..B. To leave this hook out, set "
              "SKIP=galley");
}

/// pre-commit, pre-merge-commit, pre-applypatch: judges the changes in git's index.
Result<int> judge_staged(Session& session) {
  if (session.arguments().name == "pre-applypatch") {
    // `git rebase --apply` runs this hook; other rebases do not run one.
    GALLEY_ASSIGN(std::string mark, GitProgram().run({"rev-parse", "--path-format=absolute",
                                                      "--git-path", "rebase-apply/rebasing"}));
    while (mark.ends_with('\n')) mark.pop_back();
    if (absolute_path(mark)) return kExitDone;
  }
  GALLEY_ASSIGN(const HookAnswer answer, judge_commit(session));
  if (session.is_json()) {
    session.print(
        Json{{"schema", "galley.hook-run/1"},
             {"ok", answer.is_yes},
             {"hook", session.arguments().name},
             {"judged", Json::array({Json{{"ok", answer.is_yes}, {"verdict", answer.document}}})}});
  } else {
    say(session, answer.text);
  }
  return answer.is_yes ? kExitDone : kExitNo;
}

/// pre-push, pre-receive and update: judges all updated references of a push before it returns. One
/// refusal refuses the push.
Result<int> judge_push(Session& session) {
  GALLEY_ASSIGN(const GitAccess repository, GitAccess::open(GitProgram()));
  GALLEY_ASSIGN(const Push push, read_push(session, repository.git));
  GALLEY_ASSIGN(const auto ranges, ranges_of(repository, push.updates, push.known));
  std::vector<std::pair<PushRange, HookAnswer>> judged;
  Json document = {{"schema", "galley.hook-run/1"},
                   {"ok", true},
                   {"hook", session.arguments().name},
                   {"judged", Json::array()}};
  size_t refused = 0;
  const auto tell_of = [&](const std::string& ref, bool is_yes, const std::string& text) {
    refused += is_yes ? 0 : 1;
    if (is_yes || refused <= kMostNamed) tell(session, ref, is_yes, text);
  };
  for (size_t i = 0; i < ranges.size(); ++i) {
    const PushRange& range = ranges[i];
    Json entry = {{"ref", printable_line(range.ref)}, {"ok", true}};
    if (range.to.empty()) {
      entry["note"] = range.note;
      document["judged"].push_back(std::move(entry));
      continue;
    }
    auto known = std::find_if(judged.begin(), judged.end(),
                              [&](const auto& one) { return one.first.is_same_work(range); });
    if (known == judged.end()) {
      GALLEY_ASSIGN(HookAnswer answer, judge_source(session, push_source(range), repository));
      const bool is_unknown = push.known.main_branch.empty() && push.updates[i].old_id.empty();
      if (!answer.is_yes && is_unknown) {
        answer.text +=
            "  content that the other side already has may count as new; to prevent it: " +
            push.known.remedy + "\n";
      }
      tell_of(range.ref, answer.is_yes, answer.text);
      judged.emplace_back(range, std::move(answer));
      known = judged.end() - 1;
    } else if (!known->second.is_yes) {
      tell_of(range.ref, false, "  for the same commits as " + known->first.ref + "\n");
    }
    entry["ok"] = known->second.is_yes;
    entry["verdict"] = known->second.document;
    document["judged"].push_back(std::move(entry));
  }
  if (refused > kMostNamed) {
    say(session, fmt::format("galley: and {} more are refused\n", refused - kMostNamed));
  }
  document["ok"] = refused == 0;
  if (session.is_json()) session.print(document);
  return refused == 0 ? kExitDone : kExitNo;
}

}  // namespace

Result<bool> judge_update(Session& session, const RefUpdate& update, const std::string& directory) {
  GALLEY_ASSIGN(const GitAccess repository, GitAccess::open(directory));
  GALLEY_ASSIGN(const auto ranges, ranges_of(repository, {update}, known_on_server()));
  const PushRange& range = ranges.front();
  if (range.to.empty()) return true;
  GALLEY_ASSIGN(const HookAnswer answer, judge_source(session, push_source(range), repository));
  tell(session, range.ref, answer.is_yes, answer.text);
  return answer.is_yes;
}

namespace {

/// Returns the transactions whose changes a commit contains; none without a history of Galley.
Result<std::vector<ContributingTransaction>> contributors(
    Session& session, const GitProgram& git, const std::vector<GitRawChange>& changes) {
  GALLEY_ASSIGN(const Workspace* workspace, session.open_without_recovery());
  if (persistent_of(*workspace).state() == nullptr) return std::vector<ContributingTransaction>();
  return contributing_transactions(History(*persistent_of(*workspace).state()), git, changes);
}

Result<int> put_trailers(Session& session) {
  const auto& words = session.arguments().words;
  if (words.empty()) {
    return fail(ErrorKind::kUsage, "hook.arguments",
                "the hook '" + session.arguments().name + "' is given the file of the message");
  }
  const GitProgram git;
  // The changes of a merge come from other authors.
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

/// Hooks that only take notes must not prevent a commit.
Result<int> without_refusal(Session& session, const Result<int>& status) {
  const bool is_failure = !status && status.error().kind != ErrorKind::kUsage;
  if (!is_failure) return status;
  session.print_error_lines("galley: the hook " + session.arguments().name +
                            " recorded nothing: " + printable_line(status.error().message) + "\n");
  return kExitDone;
}

}  // namespace

Result<int> run_git_hook(Session& session) {
  const std::string& name = session.arguments().name;
  if (name == "prepare-commit-msg" || name == "commit-msg") {
    return without_refusal(session, put_trailers(session));
  }
  if (name == "post-commit") return without_refusal(session, link_commit(session));
  const bool is_commit = name.starts_with("pre-") && name != "pre-push" && name != "pre-receive";
  return is_commit ? judge_staged(session) : judge_push(session);
}

}  // namespace galley
