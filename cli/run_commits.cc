#include "cli/run_commits.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "base/shell_word.h"
#include "base/text.h"
#include "cli/hook_command.h"
#include "engine/commit/state_directory.h"
#include "staging/fs/controlling_terminal.h"

namespace galley {

Result<RunCommits> RunCommits::of(Session& session, const std::string& tx) {
  RunCommits found(session, tx);
  GALLEY_ASSIGN(const Workspace* workspace, session.open());
  const PersistentState& kept = persistent_of(*workspace);
  if (kept.state() == nullptr) return found;
  const auto stage = kept.state()->root().open_directory(kept.state()->own("stage/" + tx));
  if (!stage) return found;
  GALLEY_ASSIGN(const auto refs, run_refs(**stage));
  if (refs.empty()) return found;
  found.objects_ = kept.own_path("stage/" + tx + "/git/objects");
  found.root_ = workspace->root_path();
  GALLEY_ASSIGN(found.commits_, found.repository().history(refs));
  found.kept_.resize(found.commits_.size());
  return found;
}

RunRepository RunCommits::repository() const {
  return {GitProgram::in_other_repository(root_), objects_};
}

Result<bool> RunCommits::say_branch(const RunRef& head) const {
  constexpr std::string_view kBranches = "refs/heads/";
  const RunRepository in_workspace = repository();
  const bool is_branch = head.name.starts_with(kBranches);
  const std::string name = is_branch
                               ? "branch " + printable_line(head.name.substr(kBranches.size()))
                               : "commit " + head.id.substr(0, 12);
  GALLEY_ASSIGN(const bool is_elsewhere, in_workspace.is_elsewhere(head));
  GALLEY_ASSIGN(const std::string own, in_workspace.checked_out());
  const bool is_detached = !is_branch && own.empty();
  session_->say(
      (is_detached
           ? "git: the program moved HEAD to " + name + "; yours stays where it is"
           : "git: the program switched to " + name + "; your files stay on your own branch") +
      (is_elsewhere ? ", so the changes contain what differs between the two" : ""));
  return is_elsewhere;
}

void RunCommits::say() const {
  for (const RunHistory& one : commits_) {
    session_->say(
        fmt::format("git: {} {} made inside", printable_line(one.ref.name),
                    one.count == 0 ? "is a tag" : "has " + counted(one.count, "new commit")));
    for (const RunHistory::Commit& commit : one.newest) {
      session_->say(fmt::format("  {} {}", commit.id.substr(0, 12), commit.subject));
    }
    if (one.count > one.newest.size()) {
      session_->say(fmt::format("  and {} more", one.count - one.newest.size()));
    }
  }
}

Json RunCommits::json() const {
  Json all = Json::array();
  for (size_t i = 0; i < commits_.size(); ++i) {
    const RunHistory& one = commits_[i];
    Json entry = {{"ref", one.ref.name}, {"count", one.count}, {"commits", Json::array()}};
    for (const RunHistory::Commit& commit : one.newest) {
      entry["commits"].push_back({{"id", commit.id}, {"subject", commit.subject}});
    }
    entry["kept"] = !kept_[i].empty();
    if (!kept_[i].empty()) entry["kept_as"] = kept_[i];
    all.push_back(std::move(entry));
  }
  return all;
}

Result<void> check_git_commits(const Arguments& arguments) {
  if (arguments.run.git_commits != "keep" || arguments.global.agent.empty()) return {};
  return fail(ErrorKind::kRefused, "person.agent",
              "only a person may move git references: use --git-commits keep without --agent");
}

Result<bool> RunCommits::wants_keep() {
  const Arguments& arguments = session_->arguments();
  const std::string& said = arguments.run.git_commits;
  GALLEY_TRY(check_git_commits(arguments));
  is_wanted_ = !is_empty() && said == "keep";
  const bool has_person = !session_->is_json() && session_->terminal().is_error_terminal() &&
                          session_->terminal().is_input_terminal();
  auto terminal = ControllingTerminal::open();
  if (!is_empty() && said.empty() && has_person && terminal && arguments.global.agent.empty()) {
    session_->terminal().release_terminal();
    GALLEY_ASSIGN(const std::string answer, (*terminal)->ask("Keep its git commits, too? [y/N] "));
    is_wanted_ = answer == "y" || answer == "yes";
  }
  return is_wanted_;
}

Result<void> RunCommits::copy() {
  if (!is_wanted_) return {};
  return repository().copy(commits_);
}

Result<bool> RunCommits::keep_one(const RunHistory& one, bool has_files, std::string& kept) {
  const RunRepository in_workspace = repository();
  GALLEY_TRY(in_workspace.check_submodules(one));
  GALLEY_ASSIGN(RefUpdate update, in_workspace.update_for(one, tx_));
  GALLEY_ASSIGN(const bool may, judge_update(*session_, update, root_));
  if (!may && has_files) {
    session_->say(
        "  their transaction has ended, so an approval cannot help; to keep them: git branch "
        "NAME " +
        one.ref.id);
  }
  if (!may) return false;
  auto moved = in_workspace.move(update);
  std::string why =
      " was rewritten (as by git commit --amend) or has moved meanwhile, is gone, is checked out "
      "in another work tree, is not a branch or has a name that git branch refuses, or you "
      "switched branches";
  if (!moved && update.ref == one.ref.name) {
    why = " could not be moved: " + printable_line(moved.error().message);
    GALLEY_ASSIGN(update, in_workspace.update_aside(one, tx_));
    moved = in_workspace.move(update);
  }
  GALLEY_TRY(moved);
  kept = update.ref;
  session_->say("git: kept as " + printable_line(update.ref));
  if (update.ref != one.ref.name) {
    const bool is_stash = one.ref.name.starts_with("refs/stash");
    if (!is_stash) session_->say("  " + printable_line(one.ref.name) + why);
    constexpr std::string_view kTags = "refs/tags/";
    const bool is_tag = one.ref.name.starts_with(kTags);
    const std::string merge =
        (is_stash ? "git stash apply "
         : is_tag ? "git tag -f -- " + shell_word(one.ref.name.substr(kTags.size())) + " "
                  : "git merge ") +
        shell_word(update.ref);
    GALLEY_ASSIGN(const bool may_revert, in_workspace.may_revert(one));
    if (may_revert) {
      session_->say("  it may take back commits that came meanwhile: look first, with: git diff " +
                    printable_line(one.ref.name) + " " + printable_line(update.ref));
    }
    session_->say(has_files ? "  commit the files first (git add, git commit), then: " + merge
                  : is_tag  ? "  to have it so: " + merge
                            : "  to merge it: " + merge);
  }
  return true;
}

bool RunCommits::keep(bool has_files) {
  bool is_yes = true;
  for (size_t i = 0; is_wanted_ && i < commits_.size(); ++i) {
    // The transaction may be committed already. So a failure here is reported, and not returned.
    const auto done = keep_one(commits_[i], has_files, kept_[i]);
    if (!done) {
      session_->print_error_lines(
          fmt::format("git: {} is not kept: {}\n", printable_line(commits_[i].ref.name),
                      printable_line(session_->with_hints(done.error().message))));
      session_->say("  to keep it: git branch NAME " + commits_[i].ref.id);
    }
    is_yes = is_yes && done.value_or(false);
  }
  return is_yes;
}

void RunCommits::report_dropped() const {
  if (!is_empty() && !is_wanted_) {
    session_->say("git: these commits are dropped; --git-commits keep keeps them");
  }
}

}  // namespace galley
