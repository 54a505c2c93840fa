#include "engine/git_hooks/push_ranges.h"

#include <algorithm>
#include <string_view>

#include "base/printable.h"
#include "engine/policy/config.h"
#include "staging/git/merged_tree.h"

namespace galley {
namespace {

/// Of more the content counts as new.
constexpr size_t kMaxTakenIn = 64;

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

/// The commit that a revision names; empty: none, or it is not here.
Result<std::string> commit_of(const GitProgram& git, const std::string& revision) {
  if (revision.empty()) return std::string();
  GALLEY_ASSIGN(const PipedOutput said, git.try_run({"rev-parse", "--verify", "--quiet",
                                                     "--end-of-options", revision + "^{commit}"}));
  return said.status == 0 ? first_line(said.output) : std::string();
}

/// The last commit on the first parents of `tip` that the other side has; empty: none of them.
Result<std::string> last_known(const GitProgram& git, const std::string& tip,
                               const KnownCommits& known) {
  std::vector<std::string> words = {"rev-list", "--first-parent", tip, "--not"};
  words.insert(words.end(), known.known.begin(), known.known.end());
  GALLEY_ASSIGN(std::string fresh, git.run(words));
  while (fresh.ends_with('\n')) fresh.pop_back();
  if (fresh.empty()) return tip;
  const size_t line = fresh.rfind('\n');
  return commit_of(git, fresh.substr(line == std::string::npos ? 0 : line + 1) + "^1");
}

/// The commits of the other side that the new ones of `to` are made on.
Result<std::vector<std::string>> taken_in(const GitProgram& git, const PushRange& range,
                                          const KnownCommits& known) {
  std::vector<std::string> words = {"rev-list", "--boundary", range.to, "--not"};
  words.insert(words.end(), known.known.begin(), known.known.end());
  if (!range.from.empty()) words.push_back(range.from);
  GALLEY_ASSIGN(const std::string said, git.run(words));
  GALLEY_ASSIGN(const std::string main, commit_of(git, known.main_branch));
  const std::string& rules = range.rules.empty() ? range.from : range.rules;
  std::vector<std::string> taken;
  for (size_t at = 0; at < said.size(); at = said.find('\n', at) + 1) {
    if (said[at] != '-' || taken.size() >= kMaxTakenIn) continue;
    const std::string commit = said.substr(at + 1, said.find('\n', at) - at - 1);
    if (commit == range.from) continue;
    bool counts = false;
    if (!main.empty()) {
      GALLEY_ASSIGN(const PipedOutput of_main,
                    git.try_run({"merge-base", "--is-ancestor", commit, main}));
      counts = of_main.status == 0;
    }
    if (!counts && !rules.empty()) {
      GALLEY_ASSIGN(counts, have_same_file(git, rules, commit, std::string(kConfigFileName)));
    }
    if (counts) taken.push_back(commit);
  }
  return taken;
}

}  // namespace

Result<KnownCommits> known_of_remote(const GitProgram& git, const std::string& remote) {
  GALLEY_ASSIGN(const PipedOutput said,
                git.try_run({"config", "--get-regexp", "^remote\\..*\\.(url|fetch)$"}));
  // A name is that of a remote only if it is configured: a URL may look like any pattern.
  const bool is_remote = !remote.empty() && remote.find_first_of("*?[\\ \n") == std::string::npos &&
                         ("\n" + said.output).find("\nremote." + remote + ".") != std::string::npos;
  if (!is_remote) return KnownCommits{{"--remotes"}, ""};
  return KnownCommits{{"--remotes=" + remote}, "refs/remotes/" + remote + "/HEAD"};
}

KnownCommits known_here() { return {{"--all"}, "HEAD"}; }

Result<PushRange> range_of(const GitProgram& git, const RefUpdate& update,
                           const KnownCommits& known) {
  PushRange range;
  range.ref = update.ref;
  if (update.new_id.empty()) {
    range.note = "is deleted";
    return range;
  }
  GALLEY_ASSIGN(range.to, commit_of(git, update.new_id));
  if (range.to.empty()) {
    return fail(ErrorKind::kRefused, "hook.no_commit",
                "'" + printable_line(update.ref) +
                    "' would name no commit, so there is no tree to judge; leave it out of this "
                    "push");
  }
  GALLEY_ASSIGN(range.from, commit_of(git, update.old_id));
  if (!range.from.empty()) {
    GALLEY_ASSIGN(const PipedOutput kept,
                  git.try_run({"merge-base", "--is-ancestor", range.from, range.to}));
    range.is_rewound = kept.status != 0;
    GALLEY_ASSIGN(range.known, taken_in(git, range, known));
    return range;
  }
  GALLEY_ASSIGN(range.from, last_known(git, range.to, known));
  GALLEY_ASSIGN(range.rules, commit_of(git, known.main_branch));
  // The first push of all: there are no rules but those that it brings.
  const bool is_first = range.from.empty() && range.rules.empty();
  if (is_first) range.rules = range.to;
  if (range.from != range.to && !range.from.empty()) {
    GALLEY_ASSIGN(range.known, taken_in(git, range, known));
  }
  if (range.from == range.to) {
    range.to.clear();
    range.note = "brings no new commit";
  }
  return range;
}

}  // namespace galley
