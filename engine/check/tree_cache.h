#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "staging/fs/directory.h"
#include "staging/git/git_program.h"
#include "staging/git/git_raw_diff.h"
#include "staging/git/git_tree.h"

namespace galley {

/// A tree of git as files, held so that nobody changes it.
///
/// Ownership: holds a lock on its place until it goes.
struct LaidOutTree {
  std::string path;  ///< absolute
  std::unique_ptr<File> lock;
};

/// Trees of git laid out as files, for commands that need real ones: outside every work tree, kept
/// for later runs. Contents are as git stores them; no filter is run.
///
///     $XDG_CACHE_HOME/galley/repository/<hash of its path>/tree<n>/   (~/.cache)
///         files/   the tree           lock   held shared by who runs on it, alone by who writes
///         tree     which one it is; absent while files/ is being changed
///
/// Laying out another tree writes only what differs from the one that a free place holds.
///
/// Errors: kQuota `limit.laid_out_bytes`, `check.trees_in_use`; kRefused `git.object_missing`; kIo.
class TreeCache {
 public:
  static constexpr size_t kMaxTrees = 6;  ///< places of one repository
  static constexpr uint64_t kMaxTreeBytes = uint64_t{16} << 30U;

  /// `home` is a directory that is this user's alone.
  TreeCache(GitProgram git, const GitTrees& trees, std::string home)
      : git_(std::move(git)), trees_(&trees), home_(std::move(home)) {}

  /// Returns the tree of this id as files.
  Result<LaidOutTree> lay_out(const std::string& tree) const;

 private:
  struct Place;
  Result<Place> open_place(size_t number) const;
  Result<void> change(const Place& place, const std::string& tree) const;
  Result<void> write_changes(const WritableDirectory& files, const std::string& from,
                             const std::string& to) const;
  Result<void> for_each_change(
      const std::string& from, const std::string& to,
      const std::function<Result<void>(const std::vector<GitRawChange>&)>& take) const;

  GitProgram git_;
  const GitTrees* trees_;
  std::string home_;
};

/// Where what can be made again is kept for one repository: below the user's cache directory, or
/// nothing where they have none, or one that lies in `work_tree`.
[[nodiscard]] std::string repository_cache_path(const std::string& common_directory,
                                                const std::string& work_tree);

}  // namespace galley
