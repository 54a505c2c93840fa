#include "engine/check/git_check.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <functional>
#include <optional>
#include <set>
#include <utility>

#include "base/limits.h"
#include "base/printable.h"
#include "base/text.h"
#include "engine/check/git_changes.h"
#include "engine/commit/state_directory.h"
#include "engine/pipeline/approvals.h"
#include "engine/pipeline/decide.h"
#include "engine/pipeline/disk_validator_cache.h"
#include "engine/pipeline/tree_workspace.h"
#include "engine/pipeline/trust.h"
#include "engine/policy/idle_settings.h"
#include "engine/policy/policy.h"
#include "engine/policy/verdict_file.h"
#include "engine/validators/command_validator.h"
#include "engine/validators/validator_cache.h"
#include "staging/formats/read_edits.h"
#include "staging/fs/disk_directory.h"
#include "staging/fs/host_file.h"
#include "staging/git/git_branch.h"
#include "staging/git/git_writer.h"
#include "staging/git/merged_tree.h"
#include "staging/overlay/stage_edits.h"
#include "tools/edit_formats.h"

namespace galley {
namespace {

using Kind = CheckSource::Kind;

constexpr size_t kShownTreeDigits = 12;

/// Options that make every git command print the same raw diff.
const std::vector<std::string> kRawDiff = {"--raw", "-z", "--no-abbrev", "-M",
                                           "--ignore-submodules=dirty"};

std::vector<std::string> with_raw_diff(std::vector<std::string> before,
                                       const std::vector<std::string>& after) {
  before.insert(before.end(), kRawDiff.begin(), kRawDiff.end());
  before.insert(before.end(), after.begin(), after.end());
  return before;
}

/// Whether the change is local, so that its rules may come from the work tree.
bool is_local(Kind kind) {
  return kind == Kind::kStaged || kind == Kind::kWorktree || kind == Kind::kPatch;
}

/// The remedy for a file that a fixer would change.
std::string remedy_of_fixer(Kind kind) {
  if (kind == Kind::kStaged) return "take its changes with: galley check --staged --fix";
  return "run the program yourself, and make what it changes a part of this";
}

/// Whether one of these paths is above or below this one.
bool replaces_any(const std::string& path, const std::set<std::string>& others) {
  const std::string below = path + "/";
  const auto found = others.lower_bound(below);
  if (found != others.end() && found->starts_with(below)) return true;
  for (size_t slash = path.find('/'); slash != path.npos; slash = path.find('/', slash + 1)) {
    if (others.contains(path.substr(0, slash))) return true;
  }
  return false;
}

MergeEntry new_entry(const GitRawChange& change) {
  return {fmt::format("{:06o}", change.new_mode), change.new_id};
}

/// Whether a submodule is removed, or is made of a file or the other way round.
bool changes_submodule(const GitRawChange& change) {
  const auto is_submodule = [](uint32_t mode) { return (mode & kGitTypeMask) == kGitLinkMode; };
  return change.old_mode != 0 && is_submodule(change.old_mode) != is_submodule(change.new_mode);
}

/// The paths that a diff removes or moves.
std::set<std::string> removed_paths(const std::vector<GitRawChange>& changes) {
  std::set<std::string> gone;
  for (const GitRawChange& change : changes) {
    if (change.status == 'D') gone.insert(change.path);
    if (!change.from.empty()) gone.insert(change.from);
  }
  return gone;
}

std::string without_line_end(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

}  // namespace

struct GitCheck::State {
  GitProgram git;
  GitLayout layout;
  CheckOptions options;
  std::shared_ptr<const UserSettings> user;
  SystemClock system_clock;
  std::shared_ptr<const GitObjects> objects;
  std::shared_ptr<const GitTrees> trees;
  std::shared_ptr<const GitWriters> writers;
  std::shared_ptr<GitBlobStore> store;
  std::unique_ptr<GitTree> base;
  std::string rules_tree;               ///< the tree whose galley.toml counts
  bool rules_are_of_work_tree = false;  ///< as the tree has no galley.toml
  std::string root;
  Config config;
  std::optional<Proposal> proposal;
  std::vector<Finding> findings;           ///< about paths that cannot be judged
  std::vector<RulesChange> asked_changes;  ///< changes of the rules that need a person's approval
  std::shared_ptr<const WorkTreeLineEndings> ends;  ///< of the judged work tree
  std::vector<std::string> notices;
  CheckSource::Kind kind = Kind::kStaged;
  std::unique_ptr<ValidatorCache> cache;
  std::unique_ptr<CommandRunner> tree_runner;

  [[nodiscard]] const Clock& clock() const {
    return options.clock != nullptr ? *options.clock : system_clock;
  }

  Result<void> open(const CheckSource& source);
  Result<void> finish_what_was_begun();
  Result<std::string> way_to_trust(const TrustPart& part) const;

  // --- the sides ----------------------------------------------------------------------------
  Result<std::string> resolve(const std::string& revision, const std::string& type) const;
  Result<std::string> head_tree() const;
  Result<std::string> parent_tree(const std::string& commit) const;
  Result<std::string> merge_base(const std::string& from, const std::string& to) const;
  Result<std::vector<GitRawChange>> diff_of(const CheckSource& source);
  Result<std::vector<GitRawChange>> range(const CheckSource& source);
  using DiffFrom = std::function<Result<std::vector<GitRawChange>>(const std::string& tree)>;
  Result<std::vector<GitRawChange>> against_all(const std::vector<std::string>& sides,
                                                const std::string& tree, const DiffFrom& diff);
  Result<std::vector<GitRawChange>> without_files_of(const std::string& commit,
                                                     std::vector<GitRawChange> changes,
                                                     const DiffFrom& diff);
  Result<std::vector<GitRawChange>> taken_into_base(const std::vector<GitPathChange>& files,
                                                    std::vector<GitRawChange> changes,
                                                    const DiffFrom& diff);
  Result<std::vector<std::string>> parents_of(const std::string& commit) const;
  Result<std::vector<std::string>> sides_of_head(std::vector<std::string> merging) const;
  Result<std::vector<std::string>> merge_heads() const;
  Result<std::vector<GitRawChange>> staged(const CheckSource& source);
  Result<std::vector<GitRawChange>> worktree();
  Result<std::vector<GitRawChange>> diff_trees(const std::string& from,
                                               const std::string& to) const;
  void set_base(const std::string& tree);
  Result<Proposal> patched(const CheckSource& source);

  CommandRunner* need_runner();
  ValidatorCache* need_cache();

  // --- the rules ----------------------------------------------------------------------------
  Result<void> load_rules();
  Result<Config> rules_text();
  Result<bool> counts_already(const Change& change);
  Result<void> ask_about_rules();
  Result<std::optional<GivenApproval>> given_approval() const;
};

GitCheck::GitCheck(std::unique_ptr<State> state) : state_(std::move(state)) {}
GitCheck::~GitCheck() = default;

const Proposal& GitCheck::proposal() const { return *state_->proposal; }
const Directory& GitCheck::base() const { return *state_->base; }
const Config& GitCheck::config() const { return state_->config; }
const std::string& GitCheck::base_tree() const { return state_->base->id(); }
const std::string& GitCheck::root_path() const { return state_->root; }
const std::vector<std::string>& GitCheck::notices() const { return state_->notices; }

Result<std::unique_ptr<GitCheck>> GitCheck::open(const CheckSource& source, CheckOptions options) {
  auto state = std::make_unique<State>();
  state->options = std::move(options);
  GALLEY_TRY(state->open(source));
  return std::unique_ptr<GitCheck>(new GitCheck(std::move(state)));
}

/// Finishes a killed fix first. It may have left the index and the files different, and such a
/// state must not be judged.
Result<void> GitCheck::State::finish_what_was_begun() {
  if (layout.work_tree.empty()) return {};
  const auto directory = open_writable_disk_directory(layout.work_tree);
  if (!directory) return fail(directory.error());
  const auto state = StateDirectory::open(**directory);
  // A state that is not believed is ignored.
  if (!state || !*state) return {};
  GALLEY_ASSIGN(const auto notice, finish_interrupted_fix(layout.work_tree, **state, clock()));
  if (notice) notices.push_back(*notice);
  return {};
}

Result<void> GitCheck::State::open(const CheckSource& source) {
  kind = source.kind;
  user = options.user;
  if (user == nullptr) {
    GALLEY_ASSIGN(UserSettings loaded, load_user_settings());
    user = std::make_shared<const UserSettings>(std::move(loaded));
  }
  GALLEY_ASSIGN(const GitAccess access, options.repository ? Result<GitAccess>(*options.repository)
                                                           : GitAccess::open(GitProgram()));
  git = access.git;
  layout = access.layout;
  objects = access.objects;
  trees = access.trees;
  writers = access.writers;
  root = layout.work_tree.empty() ? layout.git_directory : layout.work_tree;
  GALLEY_TRY(finish_what_was_begun());
  store = std::make_shared<GitBlobStore>(objects);
  if (source.kind == Kind::kPatch) {
    GALLEY_ASSIGN(const std::string tree, head_tree());
    set_base(tree);
    GALLEY_TRY(load_rules());
    GALLEY_ASSIGN(proposal, patched(source));
  } else {
    GALLEY_ASSIGN(const auto diff, diff_of(source));
    std::shared_ptr<const Directory> files;
    if (source.kind == Kind::kWorktree) {
      GALLEY_ASSIGN(files, open_disk_directory(layout.work_tree));
    }
    GALLEY_ASSIGN(GitChanges made, change_set_of(diff, {*base, *store, files, ends}));
    findings = std::move(made.findings);
    proposal = Proposal::from(std::move(made.changes), store);
    GALLEY_TRY(load_rules());
  }
  GALLEY_TRY(check_agent_is_known(config, options.who.agent));
  GALLEY_TRY(ask_about_rules());
  for (ValidatorConfig& validator : config.validators) validator.only_new |= options.only_new;
  return {};
}

CommandRunner* GitCheck::State::need_runner() {
  if (options.runner != nullptr) return options.runner;
  if (tree_runner == nullptr) {
    tree_runner =
        make_tree_runner(config,
                         {git, trees, [id = base->id()] { return id; },
                          repository_cache_path(layout.common_directory, layout.work_tree),
                          options.who.principals()},
                         clock());
  }
  return tree_runner.get();
}

/// Keeps results on disk only if validators run commands, because a built-in validator is as fast
/// as reading a file.
ValidatorCache* GitCheck::State::need_cache() {
  if (cache != nullptr) return cache.get();
  const bool has_commands =
      std::any_of(config.validators.begin(), config.validators.end(),
                  [](const ValidatorConfig& one) { return one.builtin.empty(); });
  const std::string home = repository_cache_path(layout.common_directory, layout.work_tree);
  if (has_commands && !home.empty()) {
    auto directory = make_disk_directory(home + "/verdicts", 0700);
    if (directory) cache = std::make_unique<DiskValidatorCache>(*std::move(directory));
  }
  if (cache == nullptr) cache = std::make_unique<MemoryValidatorCache>();
  return cache.get();
}

void GitCheck::State::set_base(const std::string& tree) {
  base = std::make_unique<GitTree>(trees, tree);
  if (rules_tree.empty()) rules_tree = tree;
}

// --- the sides ------------------------------------------------------------------------------

/// Returns the id of the object of this type that a revision names.
Result<std::string> GitCheck::State::resolve(const std::string& revision,
                                             const std::string& type) const {
  std::string name = revision;
  if (name.starts_with(":/")) {  // git searches for all that follows, also for a suffix
    const auto found = objects->look(name);
    if (found) name = found->id;
  }
  auto head = objects->look(name + "^{" + type + "}");
  if (head) return head->id;
  if (head.error().reason != "git.no_such_object") return fail(head.error());
  const std::string hint =
      layout.is_shallow ? "this clone is shallow: git fetch --unshallow" : "fetch it first";
  return fail(ErrorKind::kUsage, "git.no_such_revision",
              fmt::format("'{}' names no {} here; {}", printable_line(revision), type, hint));
}

/// The tree of HEAD; the empty tree before the first commit.
Result<std::string> GitCheck::State::head_tree() const {
  auto head = resolve("HEAD", "tree");
  if (head || head.error().reason != "git.no_such_revision") return head;
  GALLEY_ASSIGN(const PipedOutput named, git.try_run({"rev-parse", "-q", "--verify", "HEAD"}));
  if (named.status != 0) return layout.empty_tree();
  return fail(ErrorKind::kRefused, "git.object_missing",
              "the commit of HEAD or its tree is missing in this clone; look at: git fsck");
}

Result<std::string> GitCheck::State::parent_tree(const std::string& commit) const {
  auto parent = resolve(commit + "^1", "tree");
  if (parent || parent.error().reason != "git.no_such_revision") return parent;
  GALLEY_ASSIGN(const std::string text, objects->content(commit, "commit", limits::kMaxFileBytes));
  if (text.substr(0, text.find("\n\n")).find("\nparent ") == std::string::npos) {
    return layout.empty_tree();
  }
  return fail(ErrorKind::kRefused, "git.shallow",
              "the parent of " + commit +
                  " is not in this shallow clone, so there is nothing to compare with; fetch it: "
                  "git fetch --deepen=1");
}

/// The common base tree of both sides; the empty tree when they share no history.
Result<std::string> GitCheck::State::merge_base(const std::string& from,
                                                const std::string& to) const {
  GALLEY_ASSIGN(const PipedOutput found, git.try_run({"merge-base", from, to}));
  if (found.status == 0) {
    return resolve(without_line_end(found.output.substr(0, found.output.find('\n'))), "tree");
  }
  if (found.status != 1) return fail(GitProgram::error(found.complaint));
  if (!layout.is_shallow) return layout.empty_tree();
  return fail(ErrorKind::kRefused, "git.shallow",
              "this shallow clone does not reach back to where the two sides of the range part; "
              "fetch more: git fetch --unshallow");
}

Result<std::vector<GitRawChange>> GitCheck::State::diff_trees(const std::string& from,
                                                              const std::string& to) const {
  // `git diff-tree` collects all paths before it prints the first.
  const auto has_more = differ_in_more(*trees, from, to, limits::kMaxChanges);
  if (has_more && *has_more) return fail(too_many_changes());
  // git names what is missing in this clone.
  const bool is_missing = !has_more && has_more.error().reason == "git.no_such_object";
  if (!has_more && !is_missing) return fail(has_more.error());
  GALLEY_ASSIGN(const std::string raw, git.run(with_raw_diff({"diff-tree", "-r"}, {from, to})));
  return parse_raw_diff(raw);
}

/// Sets the base to the merge of all sides and returns the difference to it, since content of any
/// side is not new. With one side, or when git cannot merge them, the base is `tree`.
Result<std::vector<GitRawChange>> GitCheck::State::against_all(
    const std::vector<std::string>& sides, const std::string& tree, const DiffFrom& diff) {
  std::optional<MergedTree> merged;
  if (sides.size() > 1) {
    GALLEY_ASSIGN(merged, merged_tree(git, sides));
  }
  if (!merged) {
    set_base(tree);
    return diff(tree);
  }
  GALLEY_ASSIGN(auto changes, diff(merged->tree));
  // A conflict that was resolved with the file of one side is not a change.
  const auto is_settled = [&](const GitRawChange& change) {
    const auto conflict = merged->conflicts.find(change.path);
    if (conflict == merged->conflicts.end()) return false;
    const auto& theirs = conflict->second;
    if (change.status == 'D') return theirs.size() < sides.size();
    return std::find(theirs.begin(), theirs.end(), new_entry(change)) != theirs.end();
  };
  set_base(merged->tree);
  std::vector<GitPathChange> settled;
  for (const GitRawChange& change : changes) {
    const auto path = RelPath::parse(change.path);
    if (!path || changes_submodule(change) || !is_settled(change)) continue;
    settled.push_back({*path, change.new_mode, change.new_id});
  }
  return taken_into_base(settled, std::move(changes), diff);
}

/// Takes the files that are equal in `commit` into the base: they came from there, for example by
/// `git cherry-pick`. The rules are never taken.
Result<std::vector<GitRawChange>> GitCheck::State::without_files_of(
    const std::string& commit, std::vector<GitRawChange> changes, const DiffFrom& diff) {
  GALLEY_ASSIGN(const std::string their_tree, resolve(commit, "tree"));
  const GitTree theirs(trees, their_tree);
  const std::set<std::string> gone = removed_paths(changes);
  std::vector<GitPathChange> same;
  for (const GitRawChange& change : changes) {
    const auto path = RelPath::parse(change.path);
    const bool is_new =
        change.status != 'D' && path && !path->is_configuration() && !changes_submodule(change);
    if (!is_new || replaces_any(change.path, gone)) continue;
    const auto entry = theirs.entry(*path);
    if (!entry && entry.error().kind == ErrorKind::kRefused) continue;  // below a link
    if (!entry) return fail(entry.error());
    if (entry->mode != change.new_mode || entry->id != change.new_id) continue;
    same.push_back({*path, change.new_mode, change.new_id});
  }
  return taken_into_base(same, std::move(changes), diff);
}

/// Adds these files to the base, and returns the changes that remain.
Result<std::vector<GitRawChange>> GitCheck::State::taken_into_base(
    const std::vector<GitPathChange>& files, std::vector<GitRawChange> changes,
    const DiffFrom& diff) {
  if (files.empty()) return changes;
  GALLEY_ASSIGN(const std::string tree, GitWriter(*writers, false).tree(*trees, base->id(), files));
  set_base(tree);
  return diff(tree);
}

Result<std::vector<std::string>> GitCheck::State::parents_of(const std::string& commit) const {
  GALLEY_ASSIGN(std::string said, git.run({"rev-list", "--parents", "--max-count=1", commit}));
  std::vector<std::string> parents;
  for (size_t space = said.find(' '); space != std::string::npos;
       space = said.find(' ', space + 1)) {
    const size_t end = std::min(said.find_first_of(" \n", space + 1), said.size());
    parents.push_back(said.substr(space + 1, end - space - 1));
  }
  return parents;
}

/// The parents of the next commit; empty if they have different rules. Then the change of the rules
/// needs approval, and all content is judged.
Result<std::vector<std::string>> GitCheck::State::sides_of_head(
    std::vector<std::string> merging) const {
  const auto head = resolve("HEAD", "commit");
  if (merging.empty()) {
    GALLEY_ASSIGN(merging, merge_heads());
  }
  if (!head || merging.empty()) return std::vector<std::string>();
  std::vector<std::string> sides = {*head};
  for (const std::string& one : merging) {
    GALLEY_ASSIGN(const bool same_rules,
                  have_same_file(trees, *head, one, chosen_path(kConfigFileName)));
    if (!same_rules) return std::vector<std::string>();
    sides.push_back(one);
  }
  return sides;
}

/// The commits that are being merged: several in an octopus merge.
Result<std::vector<std::string>> GitCheck::State::merge_heads() const {
  constexpr uint64_t kMaxBytes = uint64_t{64} << 10U;
  std::vector<std::string> heads;
  GALLEY_ASSIGN(const std::string place,
                git.run({"rev-parse", "--path-format=absolute", "--git-path", "MERGE_HEAD"}));
  const auto text = read_host_file(without_line_end(place), kMaxBytes);
  if (!text) return heads;
  for (const std::string_view line : lines_of(*text)) {
    GALLEY_ASSIGN(std::string commit, resolve(std::string(line), "commit"));
    heads.push_back(std::move(commit));
  }
  return heads;
}

Result<std::vector<GitRawChange>> GitCheck::State::range(const CheckSource& source) {
  GALLEY_ASSIGN(const std::string to, resolve(source.to, "commit"));
  GALLEY_ASSIGN(const std::string to_tree, resolve(to, "tree"));
  const std::string& rules = source.rules.empty() ? source.from : source.rules;
  if (!rules.empty()) {
    GALLEY_ASSIGN(rules_tree, resolve(rules, "tree"));
  }
  std::string tree = layout.empty_tree();
  std::vector<std::string> sides = source.known;
  if (!source.from.empty()) {
    GALLEY_ASSIGN(const std::string from, resolve(source.from, "commit"));
    GALLEY_ASSIGN(tree, source.is_direct ? resolve(from, "tree") : merge_base(from, to));
    sides.insert(sides.begin(), from);
  }
  const DiffFrom diff = [&](const std::string& base_tree) {
    return diff_trees(base_tree, to_tree);
  };
  GALLEY_ASSIGN(auto changes, against_all(sides, tree, diff));
  for (const std::string& commit : source.same) {
    GALLEY_ASSIGN(changes, without_files_of(commit, std::move(changes), diff));
  }
  return changes;
}

Error no_work_tree() {
  return {ErrorKind::kUsage, "check.no_worktree",
          "this repository is bare and has no work tree; judge a commit or a range of it", "", 0};
}

Result<std::vector<GitRawChange>> GitCheck::State::staged(const CheckSource& source) {
  if (layout.work_tree.empty()) {
    // Without an index, every file would count as deleted.
    GALLEY_ASSIGN(const std::string listed, git.run({"ls-files", "--cached"}));
    if (listed.empty()) return fail(no_work_tree());
  }
  GALLEY_ASSIGN(const std::string head, head_tree());
  rules_tree = head;
  GALLEY_ASSIGN(const auto sides, sides_of_head(source.known));
  return against_all(
      sides, head, [&](const std::string& tree) -> Result<std::vector<GitRawChange>> {
        GALLEY_ASSIGN(const std::string raw,
                      git.run(with_raw_diff({"diff-index", "--cached", "--ita-invisible-in-index"},
                                            {tree, "--"})));
        return parse_raw_diff(raw);
      });
}

Error unreadable(const std::string& what, const std::string& why) {
  return {ErrorKind::kIo, "check.unreadable",
          "cannot read " + what + ", so it is not judged" + why +
              "; make it readable, ignore a folder itself (in .gitignore 'FOLDER/', not "
              "'FOLDER/*'), or judge what is staged: galley check --staged",
          "", 0};
}

/// git lists a file as deleted whatever prevents it from looking at it.
Result<void> check_deletions(const Directory& files, const std::vector<GitRawChange>& diff) {
  for (const std::string& path : removed_paths(diff)) {
    const auto parsed = RelPath::parse(path);
    if (!parsed) continue;
    const auto stat = files.stat(*parsed);
    if (stat) continue;
    const int cause = stat.error().os_error;
    const bool is_missing = cause == ENOENT || cause == ENOTDIR || cause == ELOOP;
    if (!is_missing) {
      return fail(unreadable("'" + printable_line(path) + "'", " (" + stat.error().message + ")"));
    }
  }
  return {};
}

/// The untracked paths; a folder ends with a slash.
Result<std::vector<std::string>> untracked_paths(const GitProgram& git,
                                                 const std::string& work_tree) {
  constexpr std::string_view kUnreadable = "could not open directory '";
  const std::vector<std::string> words = {
      "-C", work_tree, "ls-files", "--others", "--exclude-standard", "-z"};
  GALLEY_ASSIGN(const PipedOutput said, git.try_run(words));
  if (said.status != 0) return fail(GitProgram::error(said.complaint));
  const size_t at = said.complaint.find(kUnreadable);
  if (at == std::string::npos) return split_at_nul(said.output);
  const std::string rest = said.complaint.substr(at + kUnreadable.size());
  return fail(unreadable("the folder '" + printable_line(rest.substr(0, rest.find('\n'))), ""));
}

Result<std::vector<GitRawChange>> GitCheck::State::worktree() {
  if (layout.work_tree.empty()) return fail(no_work_tree());
  GALLEY_ASSIGN(const std::string head, head_tree());
  rules_tree = head;
  GALLEY_ASSIGN(const auto sides, sides_of_head({}));
  GALLEY_ASSIGN(
      auto diff,
      against_all(sides, head, [&](const std::string& tree) -> Result<std::vector<GitRawChange>> {
        GALLEY_ASSIGN(const std::string raw,
                      git.run(with_raw_diff({"-C", layout.work_tree, "diff-index"}, {tree, "--"})));
        return parse_raw_diff(raw);
      }));
  GALLEY_ASSIGN(const auto files, open_disk_directory(layout.work_tree));
  GALLEY_TRY(check_deletions(*files, diff));
  for (GitRawChange& change : diff) {
    if ((change.new_mode & kGitTypeMask) != kGitLinkMode) continue;
    // The diff does not give the new commit of a moved submodule.
    const auto inner = GitProgram::in_other_repository(layout.work_tree + "/" + change.path);
    GALLEY_ASSIGN(const std::string commit, inner.run({"rev-parse", "--verify", "HEAD"}));
    change.new_id = without_line_end(commit);
  }
  // The diff of files does not tell which of them a merge has left to be resolved.
  GALLEY_ASSIGN(const std::string unmerged, git.run({"-C", layout.work_tree, "diff-files",
                                                     "--name-only", "--diff-filter=U", "-z"}));
  for (std::string& path : split_at_nul(unmerged)) {
    GitRawChange change;
    change.status = 'U';
    change.path = std::move(path);
    diff.push_back(std::move(change));
  }
  GALLEY_ASSIGN(auto others, untracked_paths(git, layout.work_tree));
  for (std::string& path : others) {
    const bool is_repository = path.ends_with('/');  // one that `git add` makes a submodule
    if (is_repository) path.pop_back();
    const auto parsed = RelPath::parse(path);
    if (parsed && parsed->is_protected()) continue;
    GitRawChange change;
    change.status = 'A';
    change.new_mode = 0100644;
    if (is_repository) {
      const auto inner = GitProgram::in_other_repository(layout.work_tree + "/" + path);
      const auto commit = inner.run({"rev-parse", "--verify", "HEAD"});
      if (!commit && commit.error().reason != "git.failed") return fail(commit.error());
      if (!commit) continue;  // it has no commit, so git does not add it either
      change.new_mode = kGitLinkMode;
      change.new_id = without_line_end(*commit);
    } else if (parsed) {
      GALLEY_ASSIGN(const FileStat stat, files->stat(*parsed));
      if ((stat.mode & 0100U) != 0) change.new_mode = 0100755;
    }
    change.path = std::move(path);
    diff.push_back(std::move(change));
  }
  std::vector<std::string> files_there;
  for (const GitRawChange& change : diff) {
    const bool is_file = kind_of_git_mode(change.new_mode) == FileKind::kRegular;
    if (is_file) files_there.push_back(change.path);
  }
  GALLEY_ASSIGN(auto found, WorkTreeLineEndings::of(git, layout.work_tree, files_there));
  ends = std::make_shared<const WorkTreeLineEndings>(std::move(found));
  return diff;
}

Result<std::vector<GitRawChange>> GitCheck::State::diff_of(const CheckSource& source) {
  switch (source.kind) {
    case Kind::kStaged:
      return staged(source);
    case Kind::kWorktree:
      return worktree();
    case Kind::kRange:
      return range(source);
    default:
      break;
  }
  GALLEY_ASSIGN(const std::string commit, resolve(source.to, "commit"));
  GALLEY_ASSIGN(const std::string tree, resolve(commit, "tree"));
  GALLEY_ASSIGN(const std::string parent, parent_tree(commit));
  rules_tree = parent;
  GALLEY_ASSIGN(const auto parents, parents_of(commit));
  std::vector<std::string> sides;
  for (const std::string& one : parents) {
    GALLEY_ASSIGN(const bool same_rules,
                  have_same_file(trees, parents.front(), one, chosen_path(kConfigFileName)));
    if (same_rules) sides.push_back(one);
  }
  return against_all(sides, parent,
                     [&](const std::string& base_tree) { return diff_trees(base_tree, tree); });
}

Result<Proposal> GitCheck::State::patched(const CheckSource& source) {
  Overlay overlay(*base, store, clock());
  ReadOptions reading;
  reading.end = source.patch_end;
  GALLEY_ASSIGN(const EditSet edits,
                read_edits(source.patch, EditFormat::kAuto, reading, parse_edits_json));
  StageOptions staging;
  staging.match.last_step = std::min(staging.match.last_step, config.edits.max_step);
  staging.match.strict = config.edits.strict;
  staging.root = root;
  EditResult staged(stage_edits(overlay, edits, staging));
  if (!staged) {
    Error error = staged.error();
    error.message += "; the patch is put onto HEAD";
    return fail(std::move(error));
  }
  return Proposal::freeze(overlay);
}

// --- the rules ------------------------------------------------------------------------------

Result<Config> GitCheck::State::rules_text() {
  if (!options.config_file.empty()) return load_other_config(options.config_file);
  auto read = load_config(GitTree(trees, rules_tree));
  if (!read && is_local(kind) && read.error().reason.starts_with("config.")) {
    Error error = std::move(read).error();
    error.message +=
        ". This is the galley.toml of HEAD; to commit a repair of it, a person runs: "
        "git commit --no-verify";
    return fail(std::move(error));
  }
  GALLEY_ASSIGN(Config rules, std::move(read));
  if (!rules.file.empty() || !is_local(kind) || layout.work_tree.empty()) return rules;
  rules_are_of_work_tree = true;
  GALLEY_ASSIGN(const auto files, open_disk_directory(layout.work_tree));
  return load_config(*files);
}

Result<std::string> GitCheck::rules() const {
  const State& state = *state_;
  if (!state.options.config_file.empty()) {
    return read_host_file(state.options.config_file, limits::kMaxConfigBytes);
  }
  if (state.config.file.empty()) return std::string();
  GALLEY_ASSIGN(const RelPath path, RelPath::parse(kConfigFileName));
  const GitTree tree(state.trees, state.rules_tree);
  GALLEY_ASSIGN(const FileStat stat, tree.stat(path));
  if (stat.kind == FileKind::kRegular) return read_file(tree, path, limits::kMaxConfigBytes);
  GALLEY_ASSIGN(const auto files, open_disk_directory(state.layout.work_tree));
  return read_file(*files, path, limits::kMaxConfigBytes);
}

Result<std::vector<std::pair<std::string, ContentId>>> GitCheck::rule_files() const {
  return judging_files(state_->config, GitTree(state_->trees, state_->rules_tree));
}

Result<void> GitCheck::State::load_rules() {
  GALLEY_ASSIGN(config, rules_text());
  if (config.file.empty()) {
    notices.emplace_back(
        "there is no galley.toml, so only the built-in rules are checked; write one with: galley "
        "init");
  }
  for (const std::string& line : idle_settings(config)) notices.push_back("warning: " + line);
  const TrustPart part = trust_part_of(config);
  const bool is_of_base = options.config_file.empty() && !rules_are_of_work_tree;
  GALLEY_ASSIGN(const bool counts,
                is_trusted(*user, root, part, is_of_base ? RulesOf::kBase : RulesOf::kWorkTree));
  if (counts) return {};
  GALLEY_ASSIGN(const std::string trust_with, way_to_trust(part));
  for (ValidatorConfig& validator : config.validators) validator.trust_with = trust_with;
  remove_untrusted(config);
  notices.push_back(untrusted_notice(config, trust_with));
  return {};
}

/// `galley trust` is about the file in the work tree.
Result<std::string> GitCheck::State::way_to_trust(const TrustPart& part) const {
  bool is_in_work_tree = !options.config_file.empty();
  if (!is_in_work_tree && !layout.work_tree.empty()) {
    GALLEY_ASSIGN(const auto files, open_disk_directory(layout.work_tree));
    const auto there = load_config(*files);
    is_in_work_tree = there && trust_part_of(*there).hash() == part.hash();
  }
  if (is_in_work_tree) return std::string("galley trust");
  return fmt::format(
      "git show {}:{}, the rules that judge here; a person trusts them with GALLEY_TRUST={}",
      rules_tree.substr(0, kShownTreeDigits), kConfigFileName, part.hash().hex());
}

/// A file that equals the one in the tree whose rules count does not change the rules. A commit may
/// also bring rules that a person approved when it was made.
Result<bool> GitCheck::State::counts_already(const Change& change) {
  const auto text = read_file(GitTree(trees, rules_tree), change.path, limits::kMaxConfigBytes);
  const bool is_file = change.after.kind == FileKind::kRegular;
  RulesChange asked{root, layout.common_directory, change.path.str(),
                    text ? ContentId::of(*text).hex() : "",
                    is_file ? change.after.content.hex() : ""};
  if (is_file && asked.before == asked.after) return true;
  if (!is_file && change.after.kind != FileKind::kAbsent) return false;
  const bool is_committed = kind == Kind::kCommit || kind == Kind::kRange;
  GALLEY_ASSIGN(const bool is_known,
                is_committed ? is_known_rules_change(*user, asked) : Result<bool>(false));
  if (!is_known) asked_changes.push_back(std::move(asked));
  return is_known;
}

/// Requires a person's approval for a change of the rules, unless the rules forbid it anyway.
/// Otherwise a pull request could disable the gate that judges it.
Result<void> GitCheck::State::ask_about_rules() {
  config.configuration_is_editable = true;
  config.agent_files_are_editable = user->config.edits_configuration;
  if (user->config.edits_configuration) return {};
  const Policy policy(config);
  std::vector<std::string> asked;
  for (const Change& change : proposal->changes()) {
    if (!change.path.is_configuration()) continue;
    GALLEY_ASSIGN(const bool counts, counts_already(change));
    if (counts) continue;
    const Judgement now =
        policy.judge_path(change.path, PathOperation::kModify, options.who.principals());
    if (now.decision == Decision::kDeny) continue;
    std::string pattern = "/";
    for (const char c : change.path.str()) {
      if (std::string_view("*?[]\\!# ").find(c) != std::string_view::npos) pattern += '\\';
      pattern += c;
    }
    asked.push_back(std::move(pattern));
  }
  if (asked.empty()) return {};
  auto paths = GlobList::parse(asked);
  PathRule rule;
  rule.name = "a change of the rules";
  rule.has_name = true;
  if (paths) rule.paths = *std::move(paths);
  rule.decision = Decision::kAsk;
  rule.reason = "it is judged by the rules of the base, and a person has to review it";
  config.policy.rules.push_back(std::move(rule));
  return {};
}

/// Finds a person's approval: in the environment, which the judged change cannot set, or by `galley
/// approve`.
Result<std::optional<GivenApproval>> GitCheck::State::given_approval() const {
  const char* said = std::getenv("GALLEY_APPROVED");
  const std::string ids = said == nullptr ? "" : "," + std::string(said) + ",";
  if (options.who.agent.empty() && ids.find("," + proposal->id().hex() + ",") != ids.npos) {
    return std::optional(GivenApproval{proposal->id(), {"GALLEY_APPROVED"}, 0});
  }
  if (layout.work_tree.empty()) return std::optional<GivenApproval>();
  GALLEY_ASSIGN(const auto directory, open_writable_disk_directory(layout.work_tree));
  const auto state = StateDirectory::open(*directory);
  // A state that is not believed approves nothing.
  if (!state || !*state) return std::optional<GivenApproval>();
  return find_approval(**state, proposal->id(), clock().wall_ns());
}

Result<Preview> GitCheck::judge(const std::function<void(const Verdict::Progress&)>& on_progress) {
  State& state = *state_;
  if (!state.findings.empty()) {
    const Finding& first = state.findings.front();
    return Preview{*state.proposal,
                   Verdict{Refusal{"gate.policy_denied", first.path + ": " + first.message + ". " +
                                                             "To go on: " + first.remedy},
                           state.findings,
                           {},
                           {}}};
  }
  JudgeOptions judging{{}, state.options.approver};
  judging.gate.on_progress = on_progress;
  GALLEY_ASSIGN(const auto given, state.given_approval());
  if (given) {
    judging.gate.approved.push_back(state.proposal->id());
    judging.gate.approved_by = given->by;
  }
  const GitTree rules(state.trees, state.rules_tree);
  const JudgementBasis basis{
      state.config,       *state.base,   state.root,       state.need_runner(),
      state.need_cache(), state.clock(), state.base->id(), &rules};
  GALLEY_ASSIGN(Verdict verdict,
                verdict_on(basis, *state.proposal, state.options.who, std::move(judging)));
  if (given && !verdict.approved_by.empty()) verdict.approved_by = join(given->by);
  for (const RulesChange& change : state.asked_changes) {
    if (!verdict.is_approved() || state.kind != Kind::kStaged) continue;
    const auto recorded = record_rules_change(*state.user, change);
    if (recorded) continue;
    Finding finding;
    finding.rule = recorded.error().reason;
    finding.severity = Finding::Severity::kWarning;
    finding.path = change.path;
    finding.message = "the yes to this change could not be kept, so that a push asks again: " +
                      recorded.error().message;
    verdict.findings.push_back(std::move(finding));
  }
  for (Finding& finding : verdict.findings) {
    if (finding.rule.ends_with(kWouldChangeRule)) finding.remedy = remedy_of_fixer(state.kind);
  }
  return Preview{*state.proposal, std::move(verdict)};
}

Result<StagedFixes> GitCheck::fix() {
  State& state = *state_;
  if (state.kind != Kind::kStaged) {
    return fail(ErrorKind::kUsage, "check.fix_staged_only",
                "--fix changes what is staged and nothing else; stage the change first");
  }
  return fix_what_is_staged({*state.proposal, *state.base, state.config, state.options.who,
                             state.git, state.layout, *state.need_runner(), state.clock()});
}

}  // namespace galley
