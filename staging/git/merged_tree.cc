#include "staging/git/merged_tree.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "staging/git/git_program.h"

namespace galley {
namespace {

constexpr size_t kMaxMergedSides = 8;

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

/// Returns the commits that are not in the history of another one.
Result<std::vector<std::string>> independent(const GitProgram& git,
                                             std::vector<std::string> commits) {
  if (commits.size() < 2) return commits;
  std::vector<std::string> words = {"merge-base", "--independent"};
  words.insert(words.end(), commits.begin(), commits.end());
  GALLEY_ASSIGN(const std::string said, git.run(words));
  const auto lines = lines_of(said);
  std::vector<std::string> left(lines.begin(), lines.end());
  // The first given commit stays first, because it is our side of the merge.
  const auto first = std::find(left.begin(), left.end(), commits.front());
  if (first != left.end()) std::rotate(left.begin(), first, first + 1);
  return left;
}

/// Reads `<tree> NUL`, then `<mode> <id> <stage> TAB <path> NUL` for each file that could not be
/// merged.
MergedTree parse_merge(const std::string& said) {
  MergedTree merged;
  for (const std::string& field : split_at_nul(said)) {
    if (merged.tree.empty()) {
      merged.tree = field;
      continue;
    }
    const size_t tab = field.find('\t');
    const size_t id = field.find(' ') + 1;
    const size_t stage = field.find(' ', id) + 1;
    if (tab == std::string::npos || id == 0 || stage == 0 || stage >= tab) continue;
    auto& sides = merged.conflicts[field.substr(tab + 1)];
    // Stage 1 is the common base.
    if (field[stage] != '1')
      sides.push_back({field.substr(0, id - 1), field.substr(id, stage - 1 - id)});
  }
  return merged;
}

/// Merges two commits; nothing if git cannot do it.
Result<std::optional<MergedTree>> merge_of_two(const GitProgram& git, const std::string& ours,
                                               const std::string& theirs) {
  GALLEY_ASSIGN(const PipedOutput said,
                git.try_run({"merge-tree", "--write-tree", "-z", "--no-messages",
                             "--allow-unrelated-histories", ours, theirs}));
  if (said.status != 0 && said.status != 1) return std::optional<MergedTree>();
  MergedTree merged = parse_merge(said.output);
  if (merged.tree.empty()) return std::optional<MergedTree>();
  return std::optional(std::move(merged));
}

}  // namespace

Result<std::optional<MergedTree>> merged_tree(const GitProgram& git,
                                              std::vector<std::string> commits) {
  GALLEY_ASSIGN(commits, independent(git, std::move(commits)));
  if (commits.empty() || commits.size() > kMaxMergedSides) return std::optional<MergedTree>();
  if (commits.size() == 1) {
    GALLEY_ASSIGN(const std::string tree,
                  git.run({"rev-parse", "--verify", commits.front() + "^{tree}"}));
    return std::optional(MergedTree{first_line(tree), {}});
  }
  MergedTree all;
  std::string ours = commits.front();
  for (size_t i = 1; i < commits.size(); ++i) {
    GALLEY_ASSIGN(auto merged, merge_of_two(git, ours, commits[i]));
    if (!merged) return merged;
    all.tree = std::move(merged->tree);
    all.conflicts.merge(merged->conflicts);
    if (i + 1 == commits.size()) break;
    GALLEY_ASSIGN(
        const PipedOutput made,
        git.try_run({"-c", "user.name=galley", "-c", "user.email=galley@localhost", "commit-tree",
                     "--no-gpg-sign", "-m", "", "-p", ours, "-p", commits[i], all.tree}));
    if (made.status != 0) return std::optional<MergedTree>();
    ours = first_line(made.output);
  }
  return std::optional(std::move(all));
}

Result<std::string> file_id(const std::shared_ptr<const GitTrees>& trees, const std::string& commit,
                            const RelPath& path) {
  GALLEY_ASSIGN(const GitObjectHead tree, trees->objects().look(commit + "^{tree}"));
  GALLEY_ASSIGN(GitTreeEntry entry, GitTree(trees, tree.id).entry(path));
  return std::move(entry.id);
}

Result<bool> have_same_file(const std::shared_ptr<const GitTrees>& trees, const std::string& a,
                            const std::string& b, const RelPath& path) {
  GALLEY_ASSIGN(const std::string first, file_id(trees, a, path));
  GALLEY_ASSIGN(const std::string second, file_id(trees, b, path));
  return first == second;
}

}  // namespace galley
