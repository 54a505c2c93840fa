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

}  // namespace

std::string excludes_file_in(std::string_view git_config) {
  return git_value_in(git_config, "core", "excludesfile").value_or(std::string());
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
      [git, own = places->own] {
        return TrackedPaths::read(
            [&](const std::string& name) { return git.text_of(own + "/" + name, kMaxIndexBytes); });
      });
  files.rules_->add_outer(
      git.text_of(places->common + "/info/exclude", IgnoreRules::kMaxFileBytes));
  files.rules_->add_outer(
      git.core_file(*places, "excludesfile", "ignore", IgnoreRules::kMaxFileBytes));
  return files;
}

Result<IgnoreAnswer> IgnoreFiles::answer(const RelPath& path, bool is_directory,
                                         const Deadline& deadline, const Clock& clock) {
  if (!rules_) return IgnoreAnswer::kCounts;
  GALLEY_ASSIGN(const RelPath whole, prefix_.join(path));
  return rules_->answer(whole, is_directory, [&] { return deadline.has_passed(clock); });
}

}  // namespace galley
