#include "engine/git_hooks/ref_updates.h"

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

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
Result<std::string> commit_of(const GitAccess& repository, const std::string& revision) {
  if (revision.empty()) return std::string();
  const auto head = repository.objects->look(revision + "^{commit}");
  if (!head && head.error().reason != "git.no_such_object") return fail(head.error());
  return head ? head->id : std::string();
}

/// The commits of the receiving side whose content was judged as the result of a push. A commit
/// that is only in the history of one may have content that a later one takes back.
struct JudgedCommits {
  /// The last commits of the references. Without a main branch, also their first parents: a new
  /// branch may begin at an older state of the branch that is used as one.
  std::unordered_set<std::string> tips;
  std::unordered_set<std::string> main_line;  ///< the main branch and its first parents
  size_t searches_left = 0;  ///< how often git may still be asked which references have a commit
};

/// The commits of a push that the other side does not have.
class NewCommits {
 public:
  /// Those of all references. git is asked once.
  static Result<NewCommits> of(const GitProgram& git, const std::vector<RefUpdate>& updates,
                               const KnownCommits& known) {
    std::vector<std::string> words = {"rev-list", "--topo-order", "--parents", "--stdin", "--not"};
    words.insert(words.end(), known.known.begin(), known.known.end());
    std::string ends;
    for (const RefUpdate& update : updates) {
      if (!update.new_id.empty()) ends += update.new_id + "\n";
      if (!update.old_id.empty()) ends += "^" + update.old_id + "\n";
    }
    GALLEY_ASSIGN(std::string said, git.run(words, ends));
    NewCommits made;
    made.text_ = std::make_shared<const std::string>(std::move(said));
    for (const std::string_view line : lines_of(*made.text_)) {
      const size_t space = std::min(line.find(' '), line.size());
      made.commits_.emplace(line.substr(0, space),
                            Commit{made.commits_.size(), line.substr(space)});
    }
    return made;
  }

  [[nodiscard]] bool contains(const std::string& commit) const { return commits_.contains(commit); }
  /// A commit has a smaller number than its parents.
  [[nodiscard]] size_t number(const std::string& commit) const {
    const auto found = commits_.find(commit);
    return found == commits_.end() ? commits_.size() : found->second.number;
  }
  [[nodiscard]] std::vector<std::string> parents(const std::string& commit) const {
    std::vector<std::string> all;
    std::string_view rest = commits_.at(commit).parents;
    while (!rest.empty()) {
      const size_t end = std::min(rest.find(' ', 1), rest.size());
      all.emplace_back(rest.substr(1, end - 1));
      rest.remove_prefix(end);
    }
    return all;
  }

 private:
  struct Commit {
    size_t number = 0;
    std::string_view parents;  ///< a space before each
  };
  std::shared_ptr<const std::string> text_;
  std::unordered_map<std::string_view, Commit> commits_;
};

/// The receiving side of one push.
struct OtherSide {
  const GitAccess& repository;
  const KnownCommits& known;
  std::string main;                     ///< the last commit of its main branch; empty: unknown
  NewCommits fresh;                     ///< that it does not have
  std::vector<std::string> old;         ///< of the references of the push
  std::optional<JudgedCommits> judged;  ///< read when it is first needed
  /// New commits of references of this push that are judged before. If one is refused, the whole
  /// push is.
  std::unordered_set<std::string> before;

  [[nodiscard]] bool is_judged(const std::string& commit) const {
    return judged->tips.contains(commit) || judged->main_line.contains(commit) ||
           before.contains(commit);
  }
};

/// Finds what the other side has of a range.
class KnownContent {
 public:
  KnownContent(OtherSide& other, PushRange& range)
      : other_(other), git_(other.repository.git), range_(range) {}

  /// Sets `from` for a new branch or tag.
  Result<void> find_beginning() {
    GALLEY_TRY(read_judged());
    std::string begin = range_.to;
    while (other_.fresh.contains(begin)) {
      GALLEY_ASSIGN(const bool is_found, is_beginning(begin));
      if (is_found) break;
      const auto parents = other_.fresh.parents(begin);
      begin = parents.empty() ? std::string() : parents.front();
    }
    GALLEY_ASSIGN(range_.from, last_beginning(begin));
    // With the same rules, it could begin at the end of the other branch.
    return begin == range_.from ? Result<void>() : add_holders(begin, range_.to);
  }

  /// Adds what is not new besides `from`.
  Result<void> add_merged() {
    const std::string& rules = range_.rules.empty() ? range_.from : range_.rules;
    GALLEY_ASSIGN(const auto merged, merged_commits(rules));
    if (!merged.empty()) GALLEY_TRY(read_judged());
    for (const std::string& commit : merged) {
      GALLEY_ASSIGN(const bool is_known, counts(commit, rules));
      if (is_known) range_.known.push_back(commit);
      if (!other_.is_judged(commit)) GALLEY_TRY(add_holders(commit, rules));
    }
    return {};
  }

 private:
  Result<void> read_judged() {
    if (other_.judged) return {};
    JudgedCommits judged;
    std::vector<std::string> words = {"--no-walk"};
    if (other_.main.empty()) words = {"--first-parent"};
    GALLEY_ASSIGN(const auto tips, rev_list(git_, words, other_.known.known));
    judged.tips.insert(tips.begin(), tips.end());
    judged.tips.insert(other_.old.begin(), other_.old.end());
    if (!other_.main.empty()) {
      GALLEY_ASSIGN(const auto line, rev_list(git_, {"--first-parent", other_.main}));
      judged.main_line.insert(line.begin(), line.end());
    }
    GALLEY_ASSIGN(const std::string some,
                  git_.run({"for-each-ref", "--count=" + std::to_string(kMaxSearchedRefs + 1),
                            "--format=%(refname)", other_.known.refs}));
    if (lines_of(some).size() <= kMaxSearchedRefs) judged.searches_left = kMaxSearches;
    other_.judged = std::move(judged);
    return {};
  }

  /// Whether a new branch may begin here: its content was judged by the rules of the main branch or
  /// by those of the new branch.
  Result<bool> is_beginning(const std::string& commit) const {
    if (!other_.is_judged(commit)) return false;
    // A commit that only this push has may have been judged by its own rules.
    if (other_.main.empty() && other_.judged->tips.contains(commit)) return true;
    if (other_.main.empty()) return counts(commit, range_.to);
    GALLEY_ASSIGN(const bool has_rules_of_main, counts(commit, other_.main));
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

  /// The parents of the new commits that are not new, or are judged before by these rules.
  [[nodiscard]] Result<std::vector<std::string>> merged_commits(const std::string& rules) const {
    std::vector<std::string> merged;
    std::unordered_set<std::string> seen = {range_.from};
    std::vector<std::string> waiting = {range_.to};
    while (!waiting.empty()) {
      const std::string commit = std::move(waiting.back());
      waiting.pop_back();
      if (!seen.insert(commit).second) continue;
      bool is_new = other_.fresh.contains(commit);
      if (is_new && commit != range_.to && other_.before.contains(commit) && !rules.empty()) {
        GALLEY_ASSIGN(const bool is_same, have_same_rules(rules, commit));
        is_new = !is_same;
      }
      if (is_new) {
        for (std::string& one : other_.fresh.parents(commit)) waiting.push_back(std::move(one));
      } else if (commit != range_.to && merged.size() < kMaxTakenIn) {
        merged.push_back(commit);
      }
    }
    return merged;
  }

  /// False if a tree is not here, as in a clone without trees.
  Result<bool> have_same_rules(const std::string& a, const std::string& b) const {
    auto same = have_same_file(other_.repository.trees, a, b, chosen_path(kConfigFileName));
    const std::string reason = same ? "" : same.error().reason;
    const bool is_missing = reason == "git.object_missing" || reason == "git.no_such_object";
    return is_missing ? Result<bool>(false) : same;
  }

  /// Whether the content of a commit was judged in the main branch, or by the galley.toml of the
  /// commit `rules`.
  Result<bool> counts(const std::string& commit, const std::string& rules) const {
    if (other_.judged->main_line.contains(commit)) return true;
    return !other_.is_judged(commit) || rules.empty() ? Result<bool>(false)
                                                      : have_same_rules(rules, commit);
  }

  /// Adds the last commits of the references that contain this commit and that count.
  Result<void> add_holders(const std::string& commit, const std::string& rules) {
    if (commit.empty() || other_.judged->searches_left == 0) return {};
    --other_.judged->searches_left;
    GALLEY_ASSIGN(const std::string names,
                  git_.run({"for-each-ref", "--sort=-creatordate", kMaxHolders,
                            "--format=%(refname)", "--contains=" + commit, other_.known.refs}));
    for (const std::string_view name : lines_of(names)) {
      GALLEY_ASSIGN(const std::string tip, commit_of(other_.repository, std::string(name)));
      std::vector<std::string>& same = range_.same;
      if (tip.empty() || std::find(same.begin(), same.end(), tip) != same.end()) continue;
      GALLEY_ASSIGN(const bool is_same, counts(tip, rules));
      if (is_same) same.push_back(tip);
    }
    return {};
  }

  OtherSide& other_;
  const GitProgram& git_;
  PushRange& range_;
};

Result<bool> has_no_commit(const GitProgram& git, const KnownCommits& known) {
  GALLEY_ASSIGN(const auto commits, rev_list(git, {"--max-count=1"}, known.known));
  return commits.empty();
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
  return {{"--all"}, "refs/", "HEAD", "git symbolic-ref HEAD refs/heads/main", true};
}

namespace {

/// Removes old ids that their references do not have. On a server, the pusher names the old ids,
/// and git compares them only after the hook.
Result<void> drop_false_old_ids(const GitProgram& git, std::vector<RefUpdate>& updates) {
  GALLEY_ASSIGN(const std::string said,
                git.run({"for-each-ref", "--format=%(objectname) %(refname)"}));
  const auto lines = lines_of(said);
  const std::unordered_set<std::string_view> there(lines.begin(), lines.end());
  for (RefUpdate& update : updates) {
    if (!there.contains(update.old_id + " " + update.ref)) update.old_id.clear();
  }
  return {};
}

/// Replaces the ids by those of their commits, as for a tag. An old commit that is not here counts
/// as none.
Result<void> find_commits(const GitAccess& repository, std::vector<RefUpdate>& updates) {
  for (RefUpdate& update : updates) {
    GALLEY_ASSIGN(update.old_id, commit_of(repository, update.old_id));
    const bool is_deleted = update.new_id.empty();
    GALLEY_ASSIGN(update.new_id, commit_of(repository, update.new_id));
    if (is_deleted || !update.new_id.empty()) continue;
    return fail(ErrorKind::kRefused, "hook.no_commit",
                "'" + printable_line(update.ref) +
                    "' would not name a commit, so there is no tree to judge; leave it out of this "
                    "push");
  }
  return {};
}

Result<PushRange> range_of(OtherSide& other, const RefUpdate& update) {
  const GitAccess& repository = other.repository;
  PushRange range;
  range.ref = update.ref;
  if (update.new_id.empty()) {
    range.note = "is deleted";
    return range;
  }
  range.to = update.new_id;
  if (!other.main.empty()) range.same.push_back(other.main);
  KnownContent content(other, range);
  range.from = update.old_id;
  if (!range.from.empty()) {
    GALLEY_ASSIGN(const std::string rules,
                  file_id(repository.trees, range.from, chosen_path(kConfigFileName)));
    if (rules.empty()) range.rules = other.main;
    GALLEY_TRY(content.add_merged());
    return range;
  }
  range.rules = other.main;
  GALLEY_TRY(content.find_beginning());
  if (range.from.empty() && range.rules.empty()) {
    GALLEY_ASSIGN(const bool is_first, has_no_commit(repository.git, other.known));
    if (!is_first) return no_rules(update.ref, other.known);
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

Result<std::vector<PushRange>> ranges_of(const GitAccess& repository,
                                         std::vector<RefUpdate> updates,
                                         const KnownCommits& known) {
  OtherSide other{repository, known, {}, {}, {}, {}, {}};
  GALLEY_ASSIGN(other.main, commit_of(repository, known.main_branch));
  if (known.has_updated_refs) GALLEY_TRY(drop_false_old_ids(repository.git, updates));
  GALLEY_TRY(find_commits(repository, updates));
  GALLEY_ASSIGN(other.fresh, NewCommits::of(repository.git, updates, known));
  for (const RefUpdate& update : updates) {
    if (!update.old_id.empty()) other.old.push_back(update.old_id);
  }
  // An existing reference is judged by its own rules. A new one is judged after those whose commits
  // it contains.
  std::vector<size_t> order(updates.size());
  std::iota(order.begin(), order.end(), 0);
  const auto rank = [&](size_t i) {
    const bool exists = !updates[i].old_id.empty();
    return exists ? std::pair(0, i) : std::pair(1, ~other.fresh.number(updates[i].new_id));
  };
  std::ranges::stable_sort(order, {}, rank);
  std::map<std::pair<std::string, std::string>, size_t> done;  // by the old and the new id
  std::vector<PushRange> ranges(updates.size());
  for (const size_t i : order) {
    const RefUpdate& update = updates[i];
    const auto [found, is_new] = done.emplace(std::pair(update.old_id, update.new_id), i);
    auto range = is_new ? range_of(other, update) : Result<PushRange>(ranges[found->second]);
    if (!range) return fail(range.error());
    range->ref = update.ref;
    if (!range->to.empty()) other.before.insert(range->to);
    ranges[i] = *std::move(range);
  }
  return ranges;
}

}  // namespace galley
