#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "staging/fs/directory.h"
#include "staging/git/git_program.h"
#include "staging/git/git_tree.h"

namespace galley {

/// A git tree as files, locked against changes.
///
/// Ownership: holds a lock on its place until it is destroyed.
struct CheckedOutTree {
  std::string path;  ///< absolute
  std::unique_ptr<File> lock;
};

/// Git trees laid out as files, for commands that need real files. They are outside every work tree
/// and are kept for later runs. Contents are as git stores them; no filter is run.
///
///     $XDG_CACHE_HOME/galley/repository/<hash of its path>/tree<n>/   (~/.cache)
///         files/   the tree           lock   held shared by users, exclusively by a writer
///         tree     its id and a stamp; absent while files/ is being changed
///
/// The stamp covers the times and entries of all directories. A tree that no longer fits its stamp
/// is written anew, because programs that clean caches also remove single files. A file that a
/// program changed in place is not noticed.
///
/// To lay out another tree, only its differences to the tree in a free place are written. It is the
/// nearest one; if none is near, an unused place, then the oldest.
///
/// Errors: kQuota `limit.laid_out_bytes`, `check.trees_in_use`; kRefused `git.object_missing`; kIo.
class TreeCache {
 public:
  static constexpr size_t kMaxTrees = 6;  ///< trees for commands of one repository
  static constexpr uint64_t kMaxTreeBytes = uint64_t{16} << 30U;  ///< one tree for commands

  /// `home` is a directory that only this user can access.
  TreeCache(GitProgram git, const GitTrees& trees, std::string home)
      : git_(std::move(git)), trees_(&trees), home_(std::move(home)) {}

  /// Returns the tree of this id as files.
  Result<CheckedOutTree> lay_out(const std::string& tree) const;

 private:
  enum class Fit : uint8_t;
  struct Place;
  struct Choice;
  Result<Place> open_place(size_t number) const;
  Result<std::vector<Choice>> places_for(const std::string& tree) const;
  [[nodiscard]] std::optional<std::vector<GitRawChange>> few_differences(
      const std::string& from, const std::string& to) const;
  Result<void> change(const Place& place, const Choice& choice, const std::string& tree) const;
  Result<void> write_changes(const WritableDirectory& files, const std::string& from,
                             const std::string& to) const;
  Result<void> for_each_change(
      const std::string& from, const std::string& to,
      const std::function<Result<void>(const std::vector<GitRawChange>&)>& take) const;

  GitProgram git_;
  const GitTrees* trees_;
  std::string home_;
};

/// The folder for the cached data of one repository, below the user's cache directory. Empty if the
/// cache directory is unknown, or is in `work_tree`.
[[nodiscard]] std::string repository_cache_path(const std::string& common_directory,
                                                const std::string& work_tree);

}  // namespace galley
