#include "engine/git_hooks/ref_updates.h"

#include <algorithm>
#include <string_view>

#include "base/printable.h"
#include "engine/policy/config.h"
#include "staging/git/merged_tree.h"

namespace galley {

namespace {

constexpr size_t kSha1Digits = 40;
constexpr size_t kSha256Digits = 64;

Error bad_line(size_t number, std::string_view line) {
  return {ErrorKind::kInvalid, "hook.input",
          "line " + std::to_string(number) +
              " of what this hook was given is not as git writes it: " + printable_line(line),
          "", 0};
}

bool is_object_id(std::string_view word) {
  return (word.size() == kSha1Digits || word.size() == kSha256Digits) &&
         word.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

/// git writes zeros for "none".
std::string id_or_none(std::string_view id) {
  return id.find_first_not_of('0') == std::string_view::npos ? std::string() : std::string(id);
}

/// `order` gives the positions of the reference, the old id and the new id.
struct WordOrder {
  size_t count = 0;
  size_t ref = 0;
  size_t old_id = 0;
  size_t new_id = 0;
};
constexpr WordOrder kPushed = {4, 2, 3, 1};
constexpr WordOrder kReceived = {3, 2, 0, 1};

bool take_words(const std::vector<std::string_view>& words, const WordOrder& order,
                RefUpdate& update) {
  if (words.size() != order.count) return false;
  const bool is_whole = is_object_id(words[order.old_id]) && is_object_id(words[order.new_id]) &&
                        words[order.ref].starts_with("refs/");
  if (!is_whole) return false;
  update = {std::string(words[order.ref]), id_or_none(words[order.old_id]),
            id_or_none(words[order.new_id])};
  return true;
}

/// The first of `count` words may have spaces: a revision as it was typed, such as `:/fix it`.
std::vector<std::string_view> words_of(std::string_view line, size_t count) {
  std::vector<std::string_view> words;
  while (words.size() + 1 < count) {
    const size_t space = line.rfind(' ');
    if (space == std::string_view::npos) break;
    words.insert(words.begin(), line.substr(space + 1));
    line = line.substr(0, space);
  }
  words.insert(words.begin(), line);
  return words;
}

Result<std::vector<RefUpdate>> parse_lines(std::string_view text, const WordOrder& order) {
  std::vector<RefUpdate> updates;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    begin = end + 1;
    if (updates.size() == kMaxRefUpdates) {
      return fail(ErrorKind::kQuota, "limit.ref_updates",
                  "this push changes more than " + std::to_string(kMaxRefUpdates) +
                      " references; push them in parts");
    }
    RefUpdate update;
    if (!take_words(words_of(line, order.count), order, update)) {
      return fail(bad_line(updates.size() + 1, line));
    }
    updates.push_back(std::move(update));
  }
  return updates;
}

}  // namespace

Result<std::vector<RefUpdate>> parse_pushed_refs(std::string_view text) {
  return parse_lines(text, kPushed);
}

Result<std::vector<RefUpdate>> parse_received_refs(std::string_view text) {
  return parse_lines(text, kReceived);
}

Result<RefUpdate> parse_update(const std::vector<std::string>& words) {
  constexpr WordOrder kUpdate = {3, 0, 1, 2};
  const std::vector<std::string_view> views(words.begin(), words.end());
  RefUpdate update;
  if (take_words(views, kUpdate, update)) return update;
  return fail(ErrorKind::kUsage, "hook.arguments",
              "the hook 'update' is given a reference, the old id and the new one");
}

namespace {

/// If there are more, their contents count as new.
constexpr size_t kMaxTakenIn = 64;

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

/// The commit that a revision names; empty: it does not exist or is not here.
Result<std::string> commit_of(const GitProgram& git, const std::string& revision) {
  if (revision.empty()) return std::string();
  GALLEY_ASSIGN(const PipedOutput said, git.try_run({"rev-parse", "--verify", "--quiet",
                                                     "--end-of-options", revision + "^{commit}"}));
  return said.status == 0 ? first_line(said.output) : std::string();
}

/// The last commit on the first parents of `tip` that the other side has; empty: none.
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

/// The commits of the other side that are parents of the new commits of `to`.
Result<std::vector<std::string>> taken_in(const GitProgram& git, const PushRange& range,
                                          const KnownCommits& known) {
  std::vector<std::string> words = {"rev-list", "--boundary", range.to, "--not"};
  words.insert(words.end(), known.known.begin(), known.known.end());
  if (!range.from.empty()) words.push_back(range.from);
  GALLEY_ASSIGN(const std::string said, git.run(words));
  const std::string& rules = range.rules.empty() ? range.from : range.rules;
  std::vector<std::string> taken;
  for (size_t at = 0; at < said.size(); at = said.find('\n', at) + 1) {
    if (said[at] != '-' || taken.size() >= kMaxTakenIn) continue;
    const std::string commit = said.substr(at + 1, said.find('\n', at) - at - 1);
    if (commit == range.from) continue;
    bool counts = false;
    if (!range.main.empty()) {
      GALLEY_ASSIGN(const PipedOutput of_main,
                    git.try_run({"merge-base", "--is-ancestor", commit, range.main}));
      counts = of_main.status == 0;
    }
    if (!counts && !rules.empty()) {
      GALLEY_ASSIGN(counts, have_same_file(git, rules, commit, std::string(kConfigFileName)));
    }
    if (counts) taken.push_back(commit);
  }
  return taken;
}

Result<bool> has_no_commit(const GitProgram& git, const KnownCommits& known) {
  std::vector<std::string> words = {"rev-list", "--max-count=1"};
  words.insert(words.end(), known.known.begin(), known.known.end());
  GALLEY_ASSIGN(const std::string said, git.run(words));
  return said.empty();
}

Result<bool> has_rules(const GitProgram& git, const std::string& commit) {
  GALLEY_ASSIGN(const PipedOutput said,
                git.try_run({"rev-parse", "--verify", "--quiet", "--end-of-options",
                             commit + ":" + std::string(kConfigFileName)}));
  return said.status == 0;
}

tl::unexpected<Error> no_rules(const std::string& ref, const KnownCommits& known) {
  return fail(ErrorKind::kRefused, "hook.no_rules",
              "'" + printable_line(ref) +
                  "' has no commit in common with the other side, and the main branch of that side "
                  "is not known, so there are no rules to judge it by; make it known with: " +
                  known.remedy);
}

}  // namespace

Result<KnownCommits> known_of_remote(const GitProgram& git, const std::string& remote) {
  GALLEY_ASSIGN(const PipedOutput said,
                git.try_run({"config", "--get-regexp", "^remote\\..*\\.(url|fetch)$"}));
  // A name is a remote only if it is configured, because a URL may look like any pattern.
  const bool is_remote = !remote.empty() && remote.find_first_of("*?[\\ \n") == std::string::npos &&
                         ("\n" + said.output).find("\nremote." + remote + ".") != std::string::npos;
  if (!is_remote) {
    return KnownCommits{{"--remotes"}, "", "git remote add NAME URL && git fetch NAME"};
  }
  const std::string branches = "refs/remotes/" + remote + "/";
  GALLEY_ASSIGN(const std::string fetched, git.run({"for-each-ref", "--count=1", branches}));
  const std::string name = printable_line(remote);
  if (fetched.empty()) return KnownCommits{{"--remotes"}, "", "git fetch " + name};
  return KnownCommits{
      {"--remotes=" + remote}, branches + "HEAD", "git remote set-head " + name + " --auto"};
}

KnownCommits known_on_server() {
  return {{"--all"}, "HEAD", "git symbolic-ref HEAD refs/heads/main"};
}

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
                    "' would not name a commit, so there is no tree to judge; leave it out of this "
                    "push");
  }
  GALLEY_ASSIGN(range.main, commit_of(git, known.main_branch));
  GALLEY_ASSIGN(range.from, commit_of(git, update.old_id));
  if (!range.from.empty()) {
    GALLEY_ASSIGN(const PipedOutput kept,
                  git.try_run({"merge-base", "--is-ancestor", range.from, range.to}));
    range.is_rewound = kept.status != 0;
    GALLEY_ASSIGN(const bool is_ruled, has_rules(git, range.from));
    if (!is_ruled) range.rules = range.main;
    GALLEY_ASSIGN(range.known, taken_in(git, range, known));
    return range;
  }
  GALLEY_ASSIGN(range.from, last_known(git, range.to, known));
  range.rules = range.main;
  if (range.from.empty() && range.rules.empty()) {
    GALLEY_ASSIGN(const bool is_first, has_no_commit(git, known));
    if (!is_first) return no_rules(update.ref, known);
    range.rules = range.to;  // the very first push: the only rules are its own
  }
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
