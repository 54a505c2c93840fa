#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/rel_path.h"
#include "base/result.h"
#include "staging/fs/directory.h"
#include "staging/git/git_objects.h"

namespace galley {

/// The types of git's modes (git-fast-import(1)).
inline constexpr uint32_t kGitTypeMask = 0170000;
inline constexpr uint32_t kGitTreeMode = 0040000;
inline constexpr uint32_t kGitLinkMode = 0160000;  ///< the commit of a submodule

/// The kind of file for a git mode. A submodule is a directory.
[[nodiscard]] FileKind kind_of_git_mode(uint32_t mode);
/// The permission bits after a checkout with umask 022; 0 for a symbolic link.
[[nodiscard]] uint32_t permissions_of_git_mode(uint32_t mode);

/// One entry of a git tree.
struct GitTreeEntry {
  std::string name;
  uint32_t mode = 0;
  std::string id;  ///< hexadecimal
};

/// The trees of one repository. A bounded number of them is kept after they were read.
///
/// Ownership: shares the reader. Threads: safe to share.
class GitTrees {
 public:
  using Entries = std::shared_ptr<const std::vector<GitTreeEntry>>;

  explicit GitTrees(std::shared_ptr<const GitObjects> objects) : objects_(std::move(objects)) {}
  /// The entries of a tree, sorted by name.
  Result<Entries> entries(const std::string& tree) const;
  [[nodiscard]] const GitObjects& objects() const { return *objects_; }

 private:
  std::shared_ptr<const GitObjects> objects_;
  mutable std::mutex mutex_;
  mutable std::unordered_map<std::string, Entries> known_;
};

/// Whether two trees differ in more than `max` files, or in more than `max` folders. Reads only the
/// trees that differ, and no more of them than needed: a few small trees can name each other so
/// that they have any number of paths. An empty id is no tree.
[[nodiscard]] Result<bool> differ_in_more(const GitTrees& trees, const std::string& from,
                                          const std::string& to, size_t max);

/// A tree of a git repository as a read-only directory. Contents are exactly as stored, without
/// filters or conversion of line endings. The constructor reads nothing; trees and blobs are read
/// on demand.
///
/// A submodule is an empty directory. inode and mtime are derived from the object's name, so equal
/// stamps mean equal contents.
///
/// Ownership, threads, errors: as Directory, and those of GitObjects.
class GitTree final : public Directory {
 public:
  /// `tree` is the id of a tree.
  GitTree(std::shared_ptr<const GitTrees> trees, std::string tree);

  /// The entry at a path. Its id is empty if the path does not exist. For the root it is the id of
  /// this tree.
  Result<GitTreeEntry> entry(const RelPath& path) const;
  [[nodiscard]] const std::string& id() const { return tree_; }

  Result<std::unique_ptr<Directory>> open_directory(const RelPath& path) const override;
  Result<std::unique_ptr<File>> open_file(const RelPath& path) const override;
  Result<FileStat> stat(const RelPath& path) const override;
  Result<std::string> read_link(const RelPath& path) const override;
  Result<std::vector<DirectoryEntry>> list() const override;
  Result<std::vector<ExtendedAttribute>> attributes(const RelPath& path) const override;
  Result<bool> is_writable() const override { return false; }
  [[nodiscard]] int descriptor() const override { return -1; }

 private:
  Result<GitTreeEntry> existing(const RelPath& path) const;

  std::shared_ptr<const GitTrees> trees_;
  std::string tree_;
};

}  // namespace galley
