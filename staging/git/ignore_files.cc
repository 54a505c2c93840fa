#include "staging/git/ignore_files.h"

#include <utility>

#include "staging/fs/disk_directory.h"
#include "staging/git/git_files.h"

namespace galley {
namespace {

/// The text of a directory's .gitignore; links are not followed, as in git.
std::string ignore_file(const Directory& work_tree, const RelPath& directory) {
  const auto path = directory.join(*RelPath::parse(".gitignore"));
  if (!path) return {};
  auto text = read_file(work_tree, *path, IgnoreRules::kMaxFileBytes);
  return text ? std::move(*text) : std::string();
}

/// The index of the repository whose own files are here.
TrackedPaths read_tracked(const GitFiles& git, const std::string& own) {
  return TrackedPaths::read([&](const std::string& name) {
    return git.text_of(own + "/" + name, IgnoreFiles::kMaxIndexBytes);
  });
}

/// The paths in the index of a work tree, named from a workspace in it.
struct WorkspaceIndex {
  TrackedPaths tracked;
  RelPath prefix = RelPath::root();

  static WorkspaceIndex read(const std::string& workspace) {
    WorkspaceIndex index;
    const auto root = open_disk_directory(workspace);
    const auto stat = root ? (*root)->stat(RelPath::root()) : fail(root.error());
    if (!stat) return index;
    const GitFiles git(workspace, stat->uid);
    const auto places = git.find();
    if (!places) return index;
    const auto prefix = workspace.size() > places->work_tree.size()
                            ? RelPath::parse_within(workspace, places->work_tree)
                            : RelPath::root();
    if (prefix) index = {read_tracked(git, places->own), *prefix};
    return index;
  }
};

}  // namespace

std::function<bool(const RelPath&)> left_out_of_checkout(const std::string& workspace) {
  return
      [workspace, index = std::make_shared<std::optional<WorkspaceIndex>>()](const RelPath& path) {
        if (!*index) *index = WorkspaceIndex::read(workspace);
        const auto whole = (*index)->prefix.join(path);
        return whole && (*index)->tracked.is_left_out(whole->str());
      };
}

Result<IgnoreFiles> IgnoreFiles::open(const std::string& workspace) {
  IgnoreFiles files;
  GALLEY_ASSIGN(const auto root, open_disk_directory(workspace));
  GALLEY_ASSIGN(const FileStat stat, root->stat(RelPath::root()));
  const GitFiles git(workspace, stat.uid);
  const auto places = git.find();
  if (!places) return files;
  GALLEY_ASSIGN(files.work_tree_, open_disk_directory(places->work_tree));
  if (workspace.size() > places->work_tree.size()) {
    GALLEY_ASSIGN(files.prefix_, RelPath::parse_within(workspace, places->work_tree));
  }
  files.rules_ = std::make_unique<IgnoreRules>(
      [tree = files.work_tree_](const RelPath& directory) { return ignore_file(*tree, directory); },
      [git, own = places->own] { return read_tracked(git, own); });
  files.top_ = places->work_tree;
  files.owner_ = stat.uid;
  files.rules_->add_outer(
      git.text_of(places->common + "/info/exclude", IgnoreRules::kMaxFileBytes));
  files.rules_->add_outer(
      git.core_file(*places, "excludesfile", "ignore", IgnoreRules::kMaxFileBytes));
  return files;
}

Result<IgnoreFiles> IgnoreFiles::open_checkout(const std::string& folder) {
  IgnoreFiles files;
  GALLEY_ASSIGN(files.work_tree_, open_disk_directory(folder));
  files.is_checkout_ = true;
  files.rules_ = std::make_unique<IgnoreRules>([tree = files.work_tree_](const RelPath& directory) {
    return ignore_file(*tree, directory);
  });
  return files;
}

Result<IgnoreAnswer> IgnoreFiles::answer(const RelPath& path, bool is_directory,
                                         const Deadline& deadline, const Clock& clock) {
  if (!rules_) return IgnoreAnswer::kCounts;
  GALLEY_ASSIGN(const RelPath whole, prefix_.join(path));
  return answer_within(whole, is_directory, [&] { return deadline.has_passed(clock); });
}

Result<IgnoreAnswer> IgnoreFiles::answer_within(const RelPath& whole, bool is_directory,
                                                const IgnoreRules::ShouldStop& should_stop) {
  GALLEY_ASSIGN(const IgnoreAnswer answer, rules_->answer(whole, is_directory, should_stop));
  if (answer != IgnoreAnswer::kIgnored) return answer;
  if (is_checkout_) {
    const auto stat = work_tree_->stat(whole);
    if (!stat || stat->kind == FileKind::kAbsent) return answer;
    const bool holds = is_directory && stat->kind == FileKind::kDirectory;
    return holds ? IgnoreAnswer::kHoldsTracked : IgnoreAnswer::kCounts;
  }
  const RelPath repository = repository_of(whole.parent());
  if (repository.is_root()) return answer;
  GALLEY_ASSIGN(const IgnoreAnswer folder, answer_within(repository, true, should_stop));
  if (folder == IgnoreAnswer::kIgnored) return answer;
  const TrackedPaths& tracked = tracked_of(repository);
  const std::string_view below = std::string_view(whole.str()).substr(repository.str().size() + 1);
  if (tracked.has(below)) return IgnoreAnswer::kCounts;
  const bool holds = is_directory && tracked.has_below(below);
  return holds ? IgnoreAnswer::kHoldsTracked : answer;
}

/// The innermost repository below the work tree that has this directory; else the root.
const RelPath& IgnoreFiles::repository_of(const RelPath& directory) {
  if (!repository_ || repository_->first != directory) {
    const std::string place = directory.is_root() ? top_ : top_ + "/" + directory.str();
    const auto places = GitFiles(place, owner_).find();
    const auto found = places ? RelPath::parse_within(places->work_tree, top_) : RelPath::root();
    repository_.emplace(directory, found.value_or(RelPath::root()));
  }
  return repository_->second;
}

const TrackedPaths& IgnoreFiles::tracked_of(const RelPath& repository) {
  if (!tracked_ || tracked_->first != repository) {
    const GitFiles git(top_ + "/" + repository.str(), owner_);
    const auto places = git.find();
    tracked_.emplace(repository, places ? read_tracked(git, places->own) : TrackedPaths());
  }
  return tracked_->second;
}

}  // namespace galley
