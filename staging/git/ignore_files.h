#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/ignore_rules.h"
#include "base/rel_path.h"
#include "base/result.h"
#include "staging/fs/directory.h"

namespace galley {

/// Decides which paths of a workspace git ignores, by the .gitignore files of its work tree,
/// `info/exclude`, and core.excludesFile. It does not use libgit2, whose matching takes unbounded
/// time and which opens FIFOs.
///
/// A `.git`, a configuration, an excludes file or an index is used only if it belongs to this user,
/// to root or to the workspace's owner. It must be a regular file of limited size. Included
/// configurations are not read.
///
/// Ownership: owns the directory of the work tree. Threads: confined to one thread.
class IgnoreFiles {
 public:
  /// Reads the rules for `workspace` (absolute, with links resolved). Outside of a git work tree
  /// nothing is ignored.
  static Result<IgnoreFiles> open(const std::string& workspace);

  /// Reads the rules of a tree that was checked out into `folder` (absolute) without a repository:
  /// those of its .gitignore files. What the tree contains counts as tracked.
  static Result<IgnoreFiles> open_checkout(const std::string& folder);

  /// Returns how git treats a path of the workspace. A path in the index is never ignored, nor is
  /// one in the index of a repository or submodule below, if its folder is not ignored.
  /// Errors: kTimeout `ignore.stopped` when the deadline passes.
  Result<IgnoreAnswer> answer(const RelPath& path, bool is_directory, const Deadline& deadline,
                              const Clock& clock);

  /// Maximum size of the index, enough for about two million paths. A larger index is not read, and
  /// then no path counts as tracked.
  static constexpr uint64_t kMaxIndexBytes = uint64_t{256} << 20U;

 private:
  IgnoreFiles() = default;

  Result<IgnoreAnswer> answer_within(const RelPath& whole, bool is_directory,
                                     const IgnoreRules::ShouldStop& should_stop);
  const RelPath& repository_of(const RelPath& directory);
  const TrackedPaths& tracked_of(const RelPath& repository);

  std::shared_ptr<const Directory> work_tree_;  ///< null: not in a work tree
  RelPath prefix_ = RelPath::root();            ///< of the workspace within the work tree
  std::unique_ptr<IgnoreRules> rules_;
  bool is_checkout_ = false;  ///< of a tree, without an index
  std::string top_;           ///< the absolute path of the work tree
  uint32_t owner_ = 0;        ///< of the workspace
  /// The last results of repository_of() and tracked_of(): neighbours are asked about in a row.
  std::optional<std::pair<RelPath, RelPath>> repository_;
  std::optional<std::pair<RelPath, TrackedPaths>> tracked_;
};

/// Returns a function that tells whether the sparse checkout of the work tree that contains the
/// workspace (absolute) leaves out a path of it. The index is read at the first question, by the
/// rules of IgnoreFiles. Threads: the function and its copies are confined to one thread.
[[nodiscard]] std::function<bool(const RelPath&)> left_out_of_checkout(
    const std::string& workspace);

}  // namespace galley
