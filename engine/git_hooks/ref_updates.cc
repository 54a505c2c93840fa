#include "engine/git_hooks/ref_updates.h"

#include <algorithm>
#include <string_view>

#include "base/printable.h"
#include "base/text.h"
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
  while (!text.empty()) {
    const std::string_view line = take_line(text);
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

Result<void> peel_new_ids(const GitProgram& git, std::vector<RefUpdate>& updates) {
  std::string asked;
  for (const RefUpdate& update : updates) asked += update.new_id + "^{commit}\n";
  GALLEY_ASSIGN(const std::string said,
                git.run({"cat-file", "--batch-check=%(objectname)"}, asked));
  const auto lines = lines_of(said);
  for (size_t i = 0; i < std::min(lines.size(), updates.size()); ++i) {
    if (is_object_id(lines[i])) updates[i].new_id = lines[i];
  }
  return {};
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
/// The newest references that contain a commit: more of them seldom have other files.
constexpr const char* kMaxHolders = "--count=8";
/// git looks through the history of each reference. With more references, and after so many looks
/// in one push, such content counts as new.
constexpr size_t kMaxSearchedRefs = 2'000;
constexpr size_t kMaxSearches = 16;

/// The commits that git-rev-list(1) lists.
Result<std::vector<std::string>> rev_list(const GitProgram& git, std::vector<std::string> words,
                                          const std::vector<std::string>& more = {}) {
  words.insert(words.begin(), "rev-list");
  words.insert(words.end(), more.begin(), more.end());
  GALLEY_ASSIGN(const std::string said, git.run(words));
  const auto lines = lines_of(said);
  return std::vector<std::string>(lines.begin(), lines.end());
}

/// The commit that a revision names; empty: it does not exist or is not here.
Result<std::string> commit_of(const GitProgram& git, const std::string& revision) {
  if (revision.empty()) return std::string();
  GALLEY_ASSIGN(const PipedOutput said, git.try_run({"rev-parse", "--verify", "--quiet",
                                                     "--end-of-options", revision + "^{commit}"}));
  return said.status == 0 ? said.output.substr(0, said.output.find('\n')) : std::string();
}

/// Finds what the other side has of a range.
class KnownContent {
 public:
  /// `main` is the last commit of the main branch; empty: unknown.
  KnownContent(const GitProgram& git, KnownCommits& known, const std::string& main,
               PushRange& range)
      : git_(git), known_(known), main_(main), range_(range) {}

  /// Sets `from` for a new branch or tag.
  Result<void> find_beginning() {
    GALLEY_TRY(read_judged());
    GALLEY_ASSIGN(const auto fresh,
                  rev_list(git_, {"--first-parent", range_.to, "--not"}, known_.known));
    std::string begin = range_.to;
    if (!fresh.empty()) {
      GALLEY_ASSIGN(begin, commit_of(git_, fresh.back() + "^1"));
    }
    GALLEY_ASSIGN(range_.from, last_beginning(begin));
    // With the same rules, it could begin at the end of the other branch.
    return begin == range_.from ? Result<void>() : add_holders(begin, range_.to);
  }

  /// Adds what is not new besides `from`.
  Result<void> add_merged() {
    GALLEY_ASSIGN(const auto merged, merged_commits());
    if (!merged.empty()) GALLEY_TRY(read_judged());
    const std::string& rules = range_.rules.empty() ? range_.from : range_.rules;
    for (const std::string& commit : merged) {
      GALLEY_ASSIGN(const bool is_known, counts(commit, rules));
      if (is_known) range_.known.push_back(commit);
      if (!known_.judged->contains(commit)) GALLEY_TRY(add_holders(commit, rules));
    }
    return {};
  }

 private:
  Result<void> read_judged() {
    if (known_.judged) return {};
    JudgedCommits judged;
    std::vector<std::string> words = {"--no-walk"};
    if (main_.empty()) words = {"--first-parent"};
    GALLEY_ASSIGN(const auto tips, rev_list(git_, words, known_.known));
    judged.tips.insert(tips.begin(), tips.end());
    if (!main_.empty()) {
      GALLEY_ASSIGN(const auto line, rev_list(git_, {"--first-parent", main_}));
      judged.main_line.insert(line.begin(), line.end());
    }
    GALLEY_ASSIGN(const std::string some,
                  git_.run({"for-each-ref", "--count=" + std::to_string(kMaxSearchedRefs + 1),
                            "--format=%(refname)", known_.refs}));
    if (lines_of(some).size() <= kMaxSearchedRefs) judged.searches_left = kMaxSearches;
    known_.judged = std::move(judged);
    return {};
  }

  /// Whether a new branch may begin here: its content was judged by the rules of the main branch or
  /// by those of the new branch.
  Result<bool> is_beginning(const std::string& commit) const {
    if (!known_.judged->contains(commit) || main_.empty()) return known_.judged->contains(commit);
    GALLEY_ASSIGN(const bool has_rules_of_main, counts(commit, main_));
    return has_rules_of_main ? Result<bool>(true) : counts(commit, range_.to);
  }

  /// The last such commit on the first parents of `tip`; empty: none.
  Result<std::string> last_beginning(const std::string& tip) const {
    if (tip.empty()) return tip;
    GALLEY_ASSIGN(bool is_found, is_beginning(tip));
    if (is_found) return tip;
    GALLEY_ASSIGN(const auto line, rev_list(git_, {"--first-parent", tip}));
    for (const std::string& one : line) {
      GALLEY_ASSIGN(is_found, is_beginning(one));
      if (is_found) return one;
    }
    return std::string();
  }

  /// The parents of the new commits that the other side has.
  Result<std::vector<std::string>> merged_commits() const {
    std::vector<std::string> words = {"--boundary", range_.to, "--not"};
    if (!range_.from.empty()) words.push_back(range_.from);
    GALLEY_ASSIGN(const auto commits, rev_list(git_, words, known_.known));
    std::vector<std::string> merged;
    for (const std::string& commit : commits) {
      if (!commit.starts_with('-') || merged.size() == kMaxTakenIn) continue;
      if (commit.substr(1) != range_.from) merged.push_back(commit.substr(1));
    }
    return merged;
  }

  /// Whether the content of a commit was judged in the main branch, or by the galley.toml of the
  /// commit `rules`.
  Result<bool> counts(const std::string& commit, const std::string& rules) const {
    if (known_.judged->main_line.contains(commit)) return true;
    if (!known_.judged->tips.contains(commit) || rules.empty()) return false;
    return have_same_file(git_, rules, commit, std::string(kConfigFileName));
  }

  /// Adds the last commits of the references that contain this commit and that count.
  Result<void> add_holders(const std::string& commit, const std::string& rules) {
    if (commit.empty() || known_.judged->searches_left == 0) return {};
    --known_.judged->searches_left;
    GALLEY_ASSIGN(const std::string names,
                  git_.run({"for-each-ref", "--sort=-creatordate", kMaxHolders,
                            "--format=%(refname)", "--contains=" + commit, known_.refs}));
    for (const std::string_view name : lines_of(names)) {
      GALLEY_ASSIGN(const std::string tip, commit_of(git_, std::string(name)));
      std::vector<std::string>& same = range_.same;
      if (tip.empty() || std::find(same.begin(), same.end(), tip) != same.end()) continue;
      GALLEY_ASSIGN(const bool is_same, counts(tip, rules));
      if (is_same) same.push_back(tip);
    }
    return {};
  }

  const GitProgram& git_;
  KnownCommits& known_;
  const std::string& main_;
  PushRange& range_;
};

Result<bool> has_no_commit(const GitProgram& git, const KnownCommits& known) {
  GALLEY_ASSIGN(const auto commits, rev_list(git, {"--max-count=1"}, known.known));
  return commits.empty();
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
    return KnownCommits{
        {"--remotes"}, "refs/remotes/", "", "git remote add NAME URL && git fetch NAME"};
  }
  const std::string branches = "refs/remotes/" + remote + "/";
  GALLEY_ASSIGN(const std::string fetched, git.run({"for-each-ref", "--count=1", branches}));
  const std::string name = printable_line(remote);
  if (fetched.empty()) {
    return KnownCommits{{"--remotes"}, "refs/remotes/", "", "git fetch " + name};
  }
  return KnownCommits{{"--remotes=" + remote},
                      branches,
                      branches + "HEAD",
                      "git remote set-head " + name + " --auto"};
}

KnownCommits known_on_server() {
  return {{"--all"}, "refs/", "HEAD", "git symbolic-ref HEAD refs/heads/main"};
}

namespace {

Result<PushRange> new_range(const GitProgram& git, const RefUpdate& update, KnownCommits& known) {
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
  if (!known.main_commit) {
    GALLEY_ASSIGN(known.main_commit, commit_of(git, known.main_branch));
  }
  const std::string& main = *known.main_commit;
  if (!main.empty()) range.same.push_back(main);
  KnownContent content(git, known, main, range);
  GALLEY_ASSIGN(range.from, commit_of(git, update.old_id));
  if (!range.from.empty()) {
    GALLEY_ASSIGN(const PipedOutput kept,
                  git.try_run({"merge-base", "--is-ancestor", range.from, range.to}));
    range.is_rewound = kept.status != 0;
    GALLEY_ASSIGN(const bool is_ruled, has_rules(git, range.from));
    if (!is_ruled) range.rules = main;
    GALLEY_TRY(content.add_merged());
    return range;
  }
  range.rules = main;
  GALLEY_TRY(content.find_beginning());
  if (range.from.empty() && range.rules.empty()) {
    GALLEY_ASSIGN(const bool is_first, has_no_commit(git, known));
    if (!is_first) return no_rules(update.ref, known);
    range.rules = range.to;  // the very first push: the only rules are its own
  }
  if (range.from == range.to) {
    range.to.clear();
    range.note = "brings no new commit";
    return range;
  }
  GALLEY_TRY(content.add_merged());
  return range;
}

}  // namespace

Result<PushRange> range_of(const GitProgram& git, const RefUpdate& update, KnownCommits& known) {
  auto found = known.ranges.find({update.old_id, update.new_id});
  if (found == known.ranges.end()) {
    GALLEY_ASSIGN(PushRange range, new_range(git, update, known));
    found = known.ranges.emplace(std::pair(update.old_id, update.new_id), std::move(range)).first;
  }
  PushRange range = found->second;
  range.ref = update.ref;
  return range;
}

}  // namespace galley
