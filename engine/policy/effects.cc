#include "engine/policy/effects.h"

#include <fmt/core.h>

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/text.h"
#include "staging/overlay/change_set.h"

namespace galley {
namespace {

constexpr uint32_t kExecutableBits = 0111;
constexpr size_t kBinaryLookBytes = 8000;

/// Sums over a change set. A move without a change of content is neither a create nor a delete.
struct Totals {
  uint64_t files = 0;
  uint64_t changed_bytes = 0;
  uint64_t deletes = 0;
  uint64_t deleted_bytes = 0;
};

/// The paths whose content the proposal keeps, unchanged, under another name.
std::set<RelPath> pure_rename_sources(const ProposedTree& tree) {
  std::set<RelPath> sources;
  for (const Change& change : tree.proposal().changes()) {
    if (!change.renamed_from) continue;
    const Change* source = tree.change(*change.renamed_from);
    if (source != nullptr && source->before.content == change.after.content &&
        source->before.kind == change.after.kind) {
      sources.insert(*change.renamed_from);
    }
  }
  return sources;
}

Totals add_up(const ProposedTree& tree, const std::set<RelPath>& moved) {
  Totals totals;
  for (const Change& change : tree.proposal().changes()) {
    const bool is_directory = change.after.kind == FileKind::kDirectory ||
                              (change.is_delete() && change.before.kind == FileKind::kDirectory);
    if (is_directory && change.before.kind != FileKind::kRegular) continue;
    if ((change.removes_file() || change.is_delete()) && moved.contains(change.path)) continue;
    ++totals.files;
    if (change.removes_file() || change.is_delete()) {
      ++totals.deletes;
      totals.deleted_bytes += change.before.size;
    } else if (change.before.content != change.after.content) {
      const bool is_moved = change.renamed_from && moved.contains(*change.renamed_from);
      totals.changed_bytes += is_moved ? 0 : change.after.size;
    }
  }
  return totals;
}

/// Makes judgements about effects, each naming its key and line.
class EffectJudge {
 public:
  EffectJudge(const Config& config, std::vector<Judgement>& out) : config_(&config), out_(&out) {}

  void limit(std::string_view key, const EffectRule<std::optional<uint64_t>>& rule, uint64_t found,
             std::string_view unit) {
    if (!rule.value || found <= *rule.value) return;
    add(config_->policy.effects.over_limit, key, rule.line, "",
        fmt::format("the change has {}, more than the {} allowed", counted(found, unit),
                    *rule.value),
        "split it into smaller proposals, or ask a person to raise the limit");
  }

  void effect(std::string_view key, const EffectRule<Decision>& rule, const RelPath& path,
              std::string_view what) {
    if (rule.value == Decision::kAllow) return;
    add(rule.value, key, rule.line, path.str(), fmt::format("{}: {}", path.str(), what),
        "leave this out of the change, or ask a person to change the rule");
  }

 private:
  void add(Decision decision, std::string_view key, uint32_t line, std::string path,
           const std::string& what, std::string_view remedy) {
    const std::string file = config_->file.empty() ? std::string(kConfigFileName) : config_->file;
    Judgement judgement;
    judgement.decision = decision;
    judgement.id = "policy.effect";
    judgement.rule = fmt::format("policy.effects.{}", key);
    judgement.line = line;
    judgement.path = std::move(path);
    judgement.message =
        fmt::format("{}; `{}` ({}) says {}", what, judgement.rule,
                    line == 0 ? std::string("built-in default") : fmt::format("{}:{}", file, line),
                    decision_name(decision));
    judgement.remedy =
        decision == Decision::kAsk ? "ask a person to approve this proposal" : std::string(remedy);
    out_->push_back(std::move(judgement));
  }

  const Config* config_;
  std::vector<Judgement>* out_;
};

bool gains_or_loses_execution(const ProposedTree& tree, const Change& change) {
  if (change.after.kind != FileKind::kRegular) return false;
  Node before = change.before;
  if (change.renamed_from) {
    if (const Change* source = tree.change(*change.renamed_from)) before = source->before;
  }
  const uint32_t old_bits = before.kind == FileKind::kRegular ? before.mode & kExecutableBits : 0;
  return (old_bits != 0) != ((change.after.mode & kExecutableBits) != 0);
}

Result<void> judge_one(const EffectRules& rules, const ProposedTree& tree, const Change& change,
                       EffectJudge& judge) {
  if (gains_or_loses_execution(tree, change)) {
    judge.effect("executable_bit", rules.executable_bit, change.path,
                 (change.after.mode & kExecutableBits) != 0 ? "it becomes executable"
                                                            : "it stops being executable");
  }
  if (change.after.owner && change.after.owner != change.before.owner) {
    judge.effect("owners", rules.owners, change.path,
                 "it is given to " + owner_text(*change.after.owner));
  }
  if (change.after.kind == FileKind::kSymlink) {
    judge.effect("symlinks", rules.symlinks, change.path, "a symbolic link is made or changed");
  }
  if (change.is_type_change()) {
    judge.effect("type_changes", rules.type_changes, change.path,
                 "it becomes another kind of file");
  }
  if (change.path.name() == ".gitmodules") {
    judge.effect("submodules", rules.submodules, change.path, "submodules are changed");
  }
  if (is_submodule(change.before) || is_submodule(change.after)) {
    judge.effect("submodules", rules.submodules, change.path,
                 is_submodule(change.after) ? "the submodule points to another commit"
                                            : "the submodule goes away");
  }
  if (rules.binaries.value != Decision::kAllow && change.after.kind == FileKind::kRegular &&
      change.before.content != change.after.content) {
    GALLEY_ASSIGN(const Content content, tree.read(change.path));
    if (is_binary(*content)) {
      judge.effect("binaries", rules.binaries, change.path, "its content is binary");
    }
  }
  return {};
}

constexpr int kMaxLinks = 40;  // the kernel's MAXSYMLINKS
constexpr size_t kMaxSteps = 4096;

void push_front(std::deque<std::string>& todo, std::string_view path) {
  std::vector<std::string> parts;
  size_t begin = 0;
  while (begin <= path.size()) {
    const size_t end = std::min(path.find('/', begin), path.size());
    parts.emplace_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  todo.insert(todo.begin(), parts.begin(), parts.end());
}

std::string joined_path(const std::vector<std::string>& parts) {
  std::string text;
  for (const auto& part : parts) text += (text.empty() ? "" : "/") + part;
  return text;
}

/// One walk along a link's target, a component at a time, as the kernel does.
class LinkWalk {
 public:
  LinkWalk(const ProposedTree& tree, const RelPath& link, std::string_view target) : tree_(tree) {
    const RelPath parent = link.parent();
    for (const auto part : parent.components()) here_.emplace_back(part);
    push_front(todo_, target);
  }

  Result<LinkEnd> end() {
    for (size_t steps = 0; !todo_.empty(); ++steps) {
      if (steps > kMaxSteps) return LinkEnd::kLoop;
      GALLEY_ASSIGN(const auto known, step());
      if (known) return *known;
    }
    return is_missing_ ? LinkEnd::kMissing : LinkEnd::kInside;
  }

 private:
  /// Takes the next component; returns a value when it decides where the link ends.
  Result<std::optional<LinkEnd>> step() {
    const std::string part = todo_.front();
    todo_.pop_front();
    if (part.empty() || part == ".") return std::nullopt;
    if (part == "..") {
      if (here_.empty()) return LinkEnd::kOutside;
      here_.pop_back();
      return std::nullopt;
    }
    here_.push_back(part);
    return enter();
  }

  /// Looks at the object that `here_` names now.
  Result<std::optional<LinkEnd>> enter() {
    const auto path = RelPath::parse(joined_path(here_));
    if (!path) {
      is_missing_ = true;  // a name that Galley does not allow, so no object of ours has it
      return std::nullopt;
    }
    if (path->is_protected()) return LinkEnd::kProtected;
    const auto node = tree_.node(*path);
    if (!node && node.error().kind != ErrorKind::kRefused) return fail(node.error());
    if (!node || node->kind == FileKind::kAbsent) {
      is_missing_ = true;
      return std::nullopt;
    }
    if (node->kind != FileKind::kSymlink) return std::nullopt;
    if (++links_ > kMaxLinks) return LinkEnd::kLoop;
    GALLEY_ASSIGN(const std::string next, tree_.read_link(*path));
    if (next.starts_with('/')) return LinkEnd::kOutside;
    here_.pop_back();
    push_front(todo_, next);
    return std::nullopt;
  }

  const ProposedTree& tree_;
  std::vector<std::string> here_;
  std::deque<std::string> todo_;
  int links_ = 1;
  bool is_missing_ = false;
};

}  // namespace

bool is_binary(std::string_view content) {
  return content.substr(0, kBinaryLookBytes).find('\0') != content.npos;
}

/// Names by their form in lower case. Names with the same form are one name on macOS and Windows.
using FoldedNames = std::multimap<std::string, std::string>;
using PathPairs = std::vector<std::pair<RelPath, RelPath>>;

/// Pairs the new `path` with each of `names` of its directory that differs only in case.
Result<void> add_collisions(const ProposedTree& tree, const FoldedNames& names, const RelPath& path,
                            PathPairs& pairs) {
  const auto [begin, end] = names.equal_range(to_lower(path.name()));
  for (auto it = begin; it != end; ++it) {
    if (it->second == path.name()) continue;
    GALLEY_ASSIGN(const RelPath name, RelPath::parse(it->second));
    GALLEY_ASSIGN(RelPath other, path.parent().join(name));
    const Change* twin = tree.change(other);
    // Two new names that collide with each other make one pair, not two.
    if (twin != nullptr && twin->is_create() && other < path) continue;
    pairs.emplace_back(path, std::move(other));
  }
  return {};
}

Result<PathPairs> case_collisions(const ProposedTree& tree) {
  std::map<RelPath, std::vector<RelPath>> made_in;
  for (const Change& change : tree.proposal().changes()) {
    if (change.is_create() && !change.path.is_protected()) {
      made_in[change.path.parent()].push_back(change.path);
    }
  }
  PathPairs pairs;
  for (const auto& [directory, made] : made_in) {
    const Change* own = directory.is_root() ? nullptr : tree.change(directory);
    if (own != nullptr && own->is_create() && made.size() == 1) continue;
    const auto entries = tree.list(directory);
    // The path is not a directory any more, so it contains no names; the commit reports that.
    const bool is_none = !entries && (entries.error().kind == ErrorKind::kNotFound ||
                                      entries.error().reason == "path.wrong_kind");
    if (!entries && !is_none) return fail(entries.error());
    FoldedNames names;
    if (entries) {
      for (const auto& entry : *entries) names.emplace(to_lower(entry.name), entry.name);
    } else {  // a change set may leave out parents that it makes
      for (const RelPath& path : made) names.emplace(to_lower(path.name()), path.name());
    }
    for (const RelPath& path : made) GALLEY_TRY(add_collisions(tree, names, path, pairs));
  }
  return pairs;
}

Result<void> judge_effects(const Config& config, const ProposedTree& tree,
                           const GitDirectories& git, std::vector<Judgement>& out) {
  const EffectRules& rules = config.policy.effects;
  EffectJudge judge(config, out);
  const Totals totals = add_up(tree, pure_rename_sources(tree));
  judge.limit("max_files", rules.max_files, totals.files, "changed file");
  judge.limit("max_changed_bytes", rules.max_changed_bytes, totals.changed_bytes, "new byte");
  judge.limit("max_deletes", rules.max_deletes, totals.deletes, "deleted file");
  judge.limit("max_deleted_bytes", rules.max_deleted_bytes, totals.deleted_bytes, "deleted byte");
  for (const Change& change : tree.proposal().changes()) {
    if (change.path.is_protected()) continue;
    GALLEY_TRY(judge_one(rules, tree, change, judge));
  }
  for (const RelPath& directory : git.similar_names()) {
    judge.effect("git_directories", rules.git_directories, directory,
                 directory.is_root() ? "the root looks like a git repository to git"
                                     : "it looks like a repository to git, whose configuration "
                                       "names programs that git runs");
  }
  if (rules.case_collisions.value == Decision::kAllow) return {};
  GALLEY_ASSIGN(const auto pairs, case_collisions(tree));
  for (const auto& [path, other] : pairs) {
    judge.effect("case_collisions", rules.case_collisions, path,
                 fmt::format("its name differs from {} only in case", other.str()));
  }
  return {};
}

Result<LinkEnd> follow_link(const ProposedTree& tree, const RelPath& link,
                            std::string_view target) {
  if (target.empty() || target.starts_with('/')) return LinkEnd::kOutside;
  return LinkWalk(tree, link, target).end();
}

}  // namespace galley
