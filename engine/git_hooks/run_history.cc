#include "engine/git_hooks/run_history.h"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <thread>

#include "base/printable.h"
#include "base/text.h"
#include "staging/git/git_tree.h"

namespace galley {
namespace {

constexpr std::string_view kBranches = "refs/heads/";
constexpr size_t kShortId = 12;
constexpr int kLockTries = 20;
constexpr std::chrono::milliseconds kLockPause{100};

/// Adds the range of git-rev-list(1): commits of `id` that no reference of the repository leads to.
std::vector<std::string> new_in(std::vector<std::string> command, const std::string& id) {
  command.insert(command.end(), {id, "--not", "--all", "--"});
  return command;
}

/// A stash is a stack of git, and not a branch to add to.
bool is_stash(const std::string& name) { return name.starts_with("refs/stash"); }

Error index_differs() {
  return {ErrorKind::kRefused, "git.index_differs",
          "the index has other changes of files that these commits change", "", 0};
}

std::string output_line(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

/// Whether it is a tag that the repository does not have: an annotated one that no reference there
/// names, or a lightweight one that is not there under its name. The object of the former may be
/// there, of an attempt to keep it.
Result<bool> RunRepository::is_new_tag(const RunRef& ref) const {
  if (!ref.name.starts_with("refs/tags/")) return false;
  GALLEY_ASSIGN(const std::string type, with_run_.run({"cat-file", "-t", ref.id}));
  if (output_line(type) != "tag") {
    GALLEY_ASSIGN(const std::string now, id_of(ref.name));
    return now != ref.id;
  }
  GALLEY_ASSIGN(const PipedOutput found, git_.try_run({"for-each-ref", "--points-at", ref.id}));
  return found.output.empty();
}

Result<std::vector<RunHistory>> RunRepository::history(const std::vector<RunRef>& refs) const {
  std::vector<RunHistory> all;
  for (const RunRef& ref : refs) {
    GALLEY_ASSIGN(const PipedOutput counted,
                  with_run_.try_run(new_in({"rev-list", "--count"}, ref.id)));
    const auto count = number_of<uint64_t>(output_line(counted.output));
    if (counted.status != 0 || !count) continue;
    if (*count == 0) {
      GALLEY_ASSIGN(const bool is_new, is_new_tag(ref));
      if (!is_new) continue;
    }
    // A detached HEAD adds nothing if a branch has the same commit.
    const bool is_known = std::any_of(refs.begin(), refs.end(), [&](const RunRef& one) {
      return one.id == ref.id && one.name != "HEAD";
    });
    if (ref.name == "HEAD" && is_known) continue;
    GALLEY_ASSIGN(const std::string log,
                  with_run_.run(new_in({"log", "--no-color", "--no-decorate", "--format=%H %s",
                                        "--max-count=" + std::to_string(RunHistory::kListed)},
                                       ref.id)));
    RunHistory history{ref, {}, *count};
    for (const std::string_view line : lines_of(log)) {
      const size_t space = std::min(line.find(' '), line.size());
      const size_t subject = std::min(space + 1, line.size());
      history.newest.push_back(
          {std::string(line.substr(0, space)), std::string(line.substr(subject))});
    }
    all.push_back(std::move(history));
  }
  return all;
}

Result<bool> RunRepository::is_elsewhere(const RunRef& head) const {
  GALLEY_ASSIGN(const std::string own, id_of("HEAD"));
  std::string id = head.id;
  if (id.empty()) {
    GALLEY_ASSIGN(id, id_of(head.name));
  }
  if (own.empty() || id.empty() || own == id) return false;
  GALLEY_ASSIGN(const PipedOutput above,
                with_run_.try_run({"merge-base", "--is-ancestor", own, id}));
  if (above.status != 0) return true;
  GALLEY_ASSIGN(const std::string all, with_run_.run({"rev-list", "--count", id, "--not", own}));
  GALLEY_ASSIGN(const std::string made, with_run_.run(new_in({"rev-list", "--count"}, id)));
  return output_line(all) != output_line(made);
}

Result<void> RunRepository::copy(const std::vector<RunHistory>& commits) const {
  std::vector<std::string> list = {"rev-list", "--objects"};
  for (const RunHistory& one : commits) list.push_back(one.ref.id);
  list.insert(list.end(), {"--not", "--all", "--"});
  GALLEY_ASSIGN(const std::string objects, with_run_.run(list));
  if (objects.empty()) return {};
  GALLEY_ASSIGN(const std::string pack,
                with_run_.run({"pack-objects", "--quiet", "--stdout"}, objects));
  // git index-pack (2.39) takes the repository's path for one relative to the current folder.
  GALLEY_ASSIGN(const GitLayout repository, git_.layout());
  GALLEY_TRY(git_.run(
      {"--git-dir=" + repository.git_directory, "index-pack", "--stdin", "--strict"}, pack));
  return {};
}

Result<void> RunRepository::check_submodules(const RunHistory& commits) const {
  GALLEY_ASSIGN(const std::string ids, git_.run(new_in({"rev-list"}, commits.ref.id)));
  // A merge is left out: what it takes from another branch came with that branch.
  GALLEY_ASSIGN(const std::string diff, git_.run({"diff-tree", "--stdin", "--root", "-r", "-z",
                                                  "--no-commit-id", "--no-renames", "--no-abbrev"},
                                                 ids));
  GALLEY_ASSIGN(const auto changes, parse_raw_diff(diff));
  GALLEY_ASSIGN(const GitLayout layout, git_.layout());
  for (const GitRawChange& change : changes) {
    if (change.new_mode != kGitLinkMode) continue;
    const auto module = GitProgram::in_other_repository(layout.work_tree + "/" + change.path);
    // In a folder that has no repository of its own, git finds the one above.
    GALLEY_ASSIGN(const PipedOutput prefix, module.try_run({"rev-parse", "--show-prefix"}));
    const bool has_own = prefix.status == 0 && output_line(prefix.output).empty();
    GALLEY_ASSIGN(const PipedOutput found,
                  module.try_run({"cat-file", "-e", change.new_id + "^{commit}"}));
    if (has_own && found.status == 0) continue;
    return fail(ErrorKind::kRefused, "git.submodule_commit",
                "it names commit " + change.new_id.substr(0, kShortId) + " of the submodule '" +
                    printable_line(change.path) +
                    "', whose repository here does not have it: commits in a submodule are "
                    "dropped. Commit there first, then here");
  }
  return {};
}

Result<std::string> RunRepository::id_of(const std::string& name) const {
  GALLEY_ASSIGN(const PipedOutput said, git_.try_run({"rev-parse", "--quiet", "--verify", name}));
  return said.status == 0 ? output_line(said.output) : std::string();
}

Result<std::string> RunRepository::checked_out() const {
  GALLEY_ASSIGN(const PipedOutput head, git_.try_run({"symbolic-ref", "--quiet", "HEAD"}));
  return head.status == 0 ? output_line(head.output) : std::string();
}

Result<bool> RunRepository::is_in_other_work_tree(const std::string& branch) const {
  GALLEY_ASSIGN(const std::string trees, git_.run({"worktree", "list", "--porcelain"}));
  GALLEY_ASSIGN(const std::string own, checked_out());
  const std::string line = "\nbranch " + branch + "\n";
  int count = 0;
  for (size_t at = 0; (at = trees.find(line, at)) != std::string::npos; ++at) ++count;
  return count > (own == branch ? 1 : 0);
}

Result<RefUpdate> RunRepository::update_for(const RunHistory& commits,
                                            const std::string& tx) const {
  const auto& [name, id, before] = commits.ref;
  GALLEY_ASSIGN(const bool is_elsewhere, is_in_other_work_tree(name));
  bool is_name = true;
  if (name.starts_with(kBranches)) {
    // git itself makes no branch `HEAD` or `-x`, which its commands would take for something else.
    GALLEY_ASSIGN(const PipedOutput checked,
                  git_.try_run({"check-ref-format", "--branch", name.substr(kBranches.size())}));
    is_name = checked.status == 0;
  }
  if (is_name && name != "HEAD" && !is_stash(name) && !is_elsewhere) {
    GALLEY_ASSIGN(const std::string now, id_of(name));
    if (now.empty() && before.empty()) return RefUpdate{name, "", id};
    if (now == before && name.starts_with(kBranches)) {
      GALLEY_ASSIGN(const PipedOutput forward,
                    git_.try_run({"merge-base", "--is-ancestor", now, id}));
      if (forward.status == 0) return RefUpdate{name, now, id};
    }
  }
  return update_aside(commits, tx);
}

Result<bool> RunRepository::may_revert(const RunHistory& commits) const {
  const auto& [name, id, before] = commits.ref;
  GALLEY_ASSIGN(const std::string now, id_of(name));
  if (!name.starts_with("refs/heads/") || now.empty() || now == before) return false;
  GALLEY_ASSIGN(const PipedOutput forward, git_.try_run({"merge-base", "--is-ancestor", now, id}));
  return forward.status == 0;
}

Result<RefUpdate> RunRepository::update_aside(const RunHistory& commits,
                                              const std::string& tx) const {
  const std::string& name = commits.ref.name;
  const std::string kept =
      "refs/galley/" + tx + "/" + (name == "HEAD" ? name : name.substr(name.find('/') + 1));
  GALLEY_ASSIGN(const std::string now, id_of(kept));
  return RefUpdate{kept, now, commits.ref.id};
}

Result<bool> RunRepository::read_tree(const RefUpdate& update,
                                      std::vector<std::string> options) const {
  options.insert(options.begin(), "read-tree");
  options.insert(options.end(), {"-i", "-m"});
  if (!update.old_id.empty()) options.push_back(update.old_id);
  options.push_back(update.new_id);
  for (int tries = 1;; ++tries) {
    GALLEY_ASSIGN(const PipedOutput read, git_.try_run(options));
    if (read.status == 0) return true;
    Error why = GitProgram::error(read.complaint);
    if (why.reason != "git.index_locked") return false;
    if (tries == kLockTries) return fail(std::move(why));
    std::this_thread::sleep_for(kLockPause);
  }
}

Result<bool> RunRepository::finishes(const RefUpdate& update, const std::string& command) const {
  const std::string begun = command == "merge"    ? "MERGE_HEAD"
                            : command == "revert" ? "REVERT_HEAD"
                                                  : "CHERRY_PICK_HEAD";
  GALLEY_ASSIGN(const std::string id, id_of(begun));
  if (id.empty() || update.old_id.empty()) return false;
  if (command == "merge") {
    GALLEY_ASSIGN(const PipedOutput merged,
                  git_.try_run({"merge-base", "--is-ancestor", id, update.new_id}));
    return merged.status == 0;
  }
  // A picked commit keeps its author, and a revert names what it reverts.
  const std::string range = update.old_id + ".." + update.new_id;
  if (command == "revert") {
    GALLEY_ASSIGN(const std::string texts, git_.run({"log", "--format=%B", range, "--"}));
    return texts.find("This reverts commit " + id) != std::string::npos;
  }
  const std::string author = "--format=%an <%ae> %at";
  GALLEY_ASSIGN(const std::string wanted, git_.run({"log", "-1", author, id, "--"}));
  GALLEY_ASSIGN(const std::string authors, git_.run({"log", author, range, "--"}));
  return ("\n" + authors).find("\n" + wanted) != std::string::npos;
}

Result<void> RunRepository::move(const RefUpdate& update) const {
  const std::string none(update.new_id.size(), '0');
  const std::string& old = update.old_id.empty() ? none : update.old_id;
  GALLEY_ASSIGN(const std::string branch, checked_out());
  const bool is_checked_out = branch == update.ref;
  std::vector<std::string> finished;
  bool follows = true;
  if (is_checked_out) {
    for (const char* command : {"merge", "cherry-pick", "revert"}) {
      GALLEY_ASSIGN(const bool is_finished, finishes(update, command));
      if (is_finished) finished.emplace_back(command);
    }
    // The reference must not move if the index, which then shows a revert of it, cannot follow.
    GALLEY_ASSIGN(follows, read_tree(update, {"-n"}));
    if (!follows && finished.empty()) return fail(index_differs());
  }
  GALLEY_TRY(git_.run({"update-ref", "--create-reflog", "-m", "galley: commits of a run",
                       update.ref, update.new_id, old}));
  if (!is_checked_out) return {};
  // The index still has the conflicts that the new commits resolve.
  const auto resolve = [&]() -> Result<bool> {
    GALLEY_ASSIGN(const PipedOutput read,
                  git_.try_run({"read-tree", "-i", "--reset", update.new_id}));
    return read.status == 0;
  };
  const auto followed = follows ? read_tree(update, {}) : resolve();
  if (!followed || !*followed) {
    GALLEY_TRY(git_.run({"update-ref", "--stdin"},
                        "update " + update.ref + " " + old + " " + update.new_id + "\n"));
    return fail(followed ? index_differs() : followed.error());
  }
  for (const std::string& command : finished) GALLEY_TRY(git_.run({command, "--quit"}));
  return {};
}

}  // namespace galley
