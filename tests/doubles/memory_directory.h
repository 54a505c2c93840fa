#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "staging/fs/directory.h"

namespace galley {

/// Makes an empty file tree in memory, for tests.
///
/// Ownership: every Directory opened from it shares the tree.
[[nodiscard]] std::unique_ptr<WritableDirectory> make_memory_directory();

/// One object of a tree in memory, like an inode. It may have several names.
struct MemoryNode {
  FileKind kind = FileKind::kRegular;
  uint32_t mode = 0;
  uint32_t uid = 0;
  uint32_t gid = 0;
  uint32_t nlink = 0;
  uint64_t inode = 0;
  int64_t mtime_ns = 0;
  int64_t ctime_ns = 0;
  int64_t birth_ns = 0;
  std::string content;  ///< bytes of a file, target of a symbolic link
  std::map<std::string, std::string> attributes;
  std::map<std::string, std::shared_ptr<MemoryNode>, std::less<>> entries;
  std::map<const void*, LockMode> locks;  ///< by open file, as for flock
};

using MemoryNodePtr = std::shared_ptr<MemoryNode>;

/// One name that an operation set, or removed (then `after` is null).
struct MemoryEntryChange {
  MemoryNodePtr directory;
  std::string name;
  MemoryNodePtr after;
};

/// Receives every change of a tree, for the power-loss model. The tree's lock is held during the
/// calls.
class MemoryObserver {
 public:
  virtual ~MemoryObserver() = default;
  /// One atomic directory operation was done.
  virtual void on_entries(const std::vector<MemoryEntryChange>& changes) = 0;
  /// The content, mode, owner or attributes of a node changed.
  virtual void on_node(const MemoryNodePtr& node) = 0;
  virtual void on_sync(const MemoryNodePtr& node) = 0;
  virtual void on_sync_all() = 0;
};

/// The user who accesses a tree. Permission bits apply as in path_resolution(7).
struct MemoryUser {
  uint32_t uid = 0;
  uint32_t gid = 0;           ///< group of objects that this user makes
  std::set<uint32_t> groups;  ///< supplementary groups
};

/// The rights of a user on a node, as in its mode bits.
inline constexpr uint32_t kReadRight = 4;
inline constexpr uint32_t kWriteRight = 2;
inline constexpr uint32_t kSearchRight = 1;

/// A whole file tree in memory.
///
/// Threads: every access must hold `mutex`.
struct MemoryTree {
  MemoryTree();
  std::mutex mutex;
  uint64_t next_inode = 1;
  int64_t now_ns = 0;  ///< grows by one nanosecond at every change
  /// Without a user every access is allowed, as for root. Declared before `root`, because
  /// make_node() reads it when the root is made.
  std::optional<MemoryUser> user;
  MemoryNodePtr root;
  MemoryObserver* observer = nullptr;
  size_t capacity_bytes = SIZE_MAX;  ///< writes beyond this fail with ENOSPC
  size_t used_bytes = 0;
  uint64_t mount = 1;  ///< another number means another mount of the tree

  MemoryNodePtr make_node(FileKind kind, uint32_t mode);

  /// Whether the user has all of these rights.
  [[nodiscard]] bool allows(const MemoryNode& node, uint32_t rights) const;
  [[nodiscard]] bool is_owner(const MemoryNode& node) const;
  [[nodiscard]] bool is_member(uint32_t gid) const;
  /// The errno of chmod, chown (UINT32_MAX: no change), setxattr and getxattr; 0 if allowed.
  [[nodiscard]] int refuses_mode(const MemoryNode& node) const;
  [[nodiscard]] int refuses_owner(const MemoryNode& node, uint32_t uid, uint32_t gid) const;
  [[nodiscard]] int refuses_attribute(const MemoryNode& node, const std::string& name) const;
  /// The mode that chmod sets: without the set-group-id bit if the node's group is not one of the
  /// user's.
  [[nodiscard]] uint32_t permitted_mode(const MemoryNode& node, uint32_t mode) const;
};

/// Opens the root directory of a tree. Several directories may share the tree.
[[nodiscard]] std::unique_ptr<WritableDirectory> open_memory_tree(std::shared_ptr<MemoryTree> tree);

/// The tree of a directory in memory; null for a directory of another implementation.
[[nodiscard]] MemoryTree* memory_tree_of(const Directory& directory);

/// Opens the file of a node.
[[nodiscard]] std::unique_ptr<WritableFile> make_memory_file(std::shared_ptr<MemoryTree> tree,
                                                             MemoryNodePtr node, bool is_writable);

[[nodiscard]] FileStat memory_stat(const MemoryTree& tree, const MemoryNode& node);

}  // namespace galley
