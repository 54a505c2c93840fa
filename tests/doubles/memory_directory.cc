#include "doubles/memory_directory.h"

#include <unistd.h>
#include <algorithm>
#include <cerrno>

#include "base/file_mode.h"
#include "base/result.h"
#include "staging/fs/posix_acl.h"

namespace galley {

namespace {

constexpr int64_t kEpochNs = 1'000'000'000'000'000'000;  // 2001-09-09, far from zero

bool contains(const MemoryNode& tree, const MemoryNode* wanted) {
  if (&tree == wanted) return true;
  return std::any_of(tree.entries.begin(), tree.entries.end(), [&](const auto& entry) {
    return entry.second->kind == FileKind::kDirectory && contains(*entry.second, wanted);
  });
}

class MemoryDirectory final : public WritableDirectory {
 public:
  /// The tree's lock must be held.
  MemoryDirectory(std::shared_ptr<MemoryTree> tree, MemoryNodePtr node)
      : tree_(std::move(tree)),
        node_(std::move(node)),
        is_readable_(tree_->allows(*node_, kReadRight)) {}

  Result<std::unique_ptr<WritableDirectory>> open_writable_directory(
      const RelPath& path) const override;
  Result<std::unique_ptr<WritableFile>> open_writable_file(const RelPath& path, OpenMode mode,
                                                           uint32_t create_mode) const override;
  Result<FileStat> stat(const RelPath& path) const override;
  Result<std::string> read_link(const RelPath& path) const override;
  Result<std::vector<DirectoryEntry>> list() const override;
  Result<void> make_directory(const RelPath& path, uint32_t mode) const override;
  Result<void> make_symlink(const RelPath& path, std::string_view target) const override;
  Result<void> make_hard_link(const RelPath& from, const WritableDirectory& to_directory,
                              const RelPath& to) const override;
  Result<void> remove_file(const RelPath& path) const override;
  Result<void> remove_directory(const RelPath& path) const override;
  Result<void> rename(const RelPath& from, const WritableDirectory& to_directory, const RelPath& to,
                      RenameMode mode) const override;
  Result<void> set_mode(const RelPath& path, uint32_t mode) const override;
  Result<void> set_owner(const RelPath& path, uint32_t uid, uint32_t gid) const override;
  Result<std::vector<ExtendedAttribute>> attributes(const RelPath& path) const override;
  Result<void> set_attribute(const RelPath& path,
                             const ExtendedAttribute& attribute) const override;
  Result<void> remove_attribute(const RelPath& path, const std::string& name) const override;
  Result<void> sync() const override;
  Result<bool> is_writable() const override {
    const std::lock_guard guard(tree_->mutex);
    return tree_->allows(*node_, kWriteRight | kSearchRight);
  }
  Result<void> sync_file_system() const override;
  [[nodiscard]] int descriptor() const override { return -1; }
  [[nodiscard]] MemoryTree* tree() const { return tree_.get(); }

 private:
  /// A name in a directory, and its node (null if it does not exist).
  struct Place {
    MemoryNodePtr directory;
    std::string name;
    MemoryNodePtr node;
  };
  /// Resolves a path as openat2 does with Galley's flags. The tree's lock must be held.
  Result<Place> place(std::string_view action, const RelPath& path) const;
  /// As place(), for a path that must exist.
  Result<Place> existing(std::string_view action, const RelPath& path) const;
  /// An Error if the user may not add or remove names in the directory of a place.
  [[nodiscard]] Result<void> may_change(std::string_view action, const Place& at) const;
  [[nodiscard]] Result<void> may_rename(const Place& from, const Place& to, RenameMode mode) const;
  /// Makes a new object for a place. The place determines its owner and group.
  [[nodiscard]] MemoryNodePtr make_child(const Place& at, FileKind kind, uint32_t mode) const;
  void apply(const std::vector<MemoryEntryChange>& changes) const;
  void touch(const MemoryNodePtr& node) const;
  static bool would_hold_itself(const MemoryNode& node, const Place& place) {
    return node.kind == FileKind::kDirectory && contains(node, place.directory.get());
  }
  static Result<void> check_rename(const Place& from, const Place& to, RenameMode mode);

  std::shared_ptr<MemoryTree> tree_;
  MemoryNodePtr node_;
  bool is_readable_;  ///< when it was opened
};

const MemoryDirectory& as_memory(const WritableDirectory& directory) {
  const auto* memory = dynamic_cast<const MemoryDirectory*>(&directory);
  GALLEY_CHECK(memory != nullptr);
  return *memory;
}

Error symlink_error(const RelPath& path) {
  return Error{ErrorKind::kRefused, "path.through_symlink",
               "'" + path.str() + "' leads through a symbolic link", path.str(), ELOOP};
}

/// The errno of rename(2) for these two nodes in any directory; 0 if allowed. `to` is null if the
/// new name does not exist.
int rename_refusal(const MemoryNode& from, const MemoryNode* to, RenameMode mode) {
  if (to == nullptr) return mode == RenameMode::kExchange ? ENOENT : 0;
  if (mode == RenameMode::kNoReplace) return EEXIST;
  if (mode == RenameMode::kExchange || &from == to) return 0;
  const bool from_directory = from.kind == FileKind::kDirectory;
  const bool to_directory = to->kind == FileKind::kDirectory;
  if (to_directory != from_directory) return to_directory ? EISDIR : ENOTDIR;
  return to_directory && !to->entries.empty() ? ENOTEMPTY : 0;
}

Result<MemoryDirectory::Place> MemoryDirectory::place(std::string_view action,
                                                      const RelPath& path) const {
  Place at{node_, "", node_};
  if (!tree_->allows(*node_, kSearchRight)) return os_error(EACCES, action, path.str());
  for (const auto component : path.components()) {
    if (at.node == nullptr) return os_error(ENOENT, action, path.str());
    if (at.node->kind == FileKind::kSymlink) return symlink_error(path);
    if (at.node->kind != FileKind::kDirectory) return os_error(ENOTDIR, action, path.str());
    if (!tree_->allows(*at.node, kSearchRight)) return os_error(EACCES, action, path.str());
    at.directory = at.node;
    at.name = component;
    const auto found = at.directory->entries.find(component);
    at.node = found == at.directory->entries.end() ? nullptr : found->second;
  }
  return at;
}

Result<MemoryDirectory::Place> MemoryDirectory::existing(std::string_view action,
                                                         const RelPath& path) const {
  GALLEY_ASSIGN(Place at, place(action, path));
  if (at.node == nullptr) return os_error(ENOENT, action, path.str());
  return at;
}

Result<void> MemoryDirectory::may_change(std::string_view action, const Place& at) const {
  if (tree_->allows(*at.directory, kWriteRight)) return {};
  return os_error(EACCES, action, at.name);
}

/// A directory that gets another parent must be writable, because its `..` changes.
Result<void> MemoryDirectory::may_rename(const Place& from, const Place& to,
                                         RenameMode mode) const {
  GALLEY_TRY(may_change("cannot rename", from));
  GALLEY_TRY(may_change("cannot rename to", to));
  if (from.directory == to.directory) return {};
  const auto may_move = [&](const MemoryNodePtr& node) {
    return node == nullptr || node->kind != FileKind::kDirectory ||
           tree_->allows(*node, kWriteRight);
  };
  const bool may_both = may_move(from.node) && (mode != RenameMode::kExchange || may_move(to.node));
  if (may_both) return {};
  return os_error(EACCES, "cannot rename", from.name);
}

MemoryNodePtr MemoryDirectory::make_child(const Place& at, FileKind kind, uint32_t mode) const {
  auto node = tree_->make_node(kind, mode);
  if ((at.directory->mode & kSetGroupId) == 0) return node;
  node->gid = at.directory->gid;
  if (kind == FileKind::kDirectory) node->mode |= kSetGroupId;
  return node;
}

void MemoryDirectory::touch(const MemoryNodePtr& node) const {
  node->ctime_ns = ++tree_->now_ns;
  if (tree_->observer != nullptr) tree_->observer->on_node(node);
}

void MemoryDirectory::apply(const std::vector<MemoryEntryChange>& changes) const {
  const int64_t now = ++tree_->now_ns;
  for (const auto& change : changes) {
    auto& slot = change.directory->entries[change.name];
    if (slot != nullptr) {
      --slot->nlink;
      slot->ctime_ns = now;
    }
    slot = change.after;
    if (slot != nullptr) {
      ++slot->nlink;
      slot->ctime_ns = now;
    } else {
      change.directory->entries.erase(change.name);
    }
    change.directory->mtime_ns = change.directory->ctime_ns = now;
  }
  if (tree_->observer != nullptr) tree_->observer->on_entries(changes);
}

Result<std::unique_ptr<WritableDirectory>> MemoryDirectory::open_writable_directory(
    const RelPath& path) const {
  const std::lock_guard guard(tree_->mutex);
  GALLEY_ASSIGN(const Place at, existing("cannot open directory", path));
  if (at.node->kind == FileKind::kSymlink) return symlink_error(path);
  if (at.node->kind != FileKind::kDirectory) {
    return os_error(ENOTDIR, "cannot open directory", path.str());
  }
  return std::unique_ptr<WritableDirectory>(std::make_unique<MemoryDirectory>(tree_, at.node));
}

Result<std::unique_ptr<WritableFile>> MemoryDirectory::open_writable_file(
    const RelPath& path, OpenMode mode, uint32_t create_mode) const {
  const std::lock_guard guard(tree_->mutex);
  GALLEY_ASSIGN(Place at, place("cannot open", path));
  const bool is_new = at.node == nullptr;
  if (is_new && mode != OpenMode::kCreateNew && mode != OpenMode::kOpenOrCreate) {
    return os_error(ENOENT, "cannot open", path.str());
  }
  if (!is_new && mode == OpenMode::kCreateNew) return os_error(EEXIST, "cannot open", path.str());
  if (is_new) {
    GALLEY_TRY(may_change("cannot open", at));
    at.node = make_child(at, FileKind::kRegular, create_mode);
    apply({{at.directory, at.name, at.node}});
  }
  const auto refused = [&](std::string reason, std::string_view what, int code) {
    return fail(Error{ErrorKind::kRefused, std::move(reason),
                      "'" + path.str() + "' is " + std::string(what) + ", not a regular file",
                      path.str(), code});
  };
  switch (at.node->kind) {
    case FileKind::kRegular: {
      const bool writes = mode != OpenMode::kRead;
      const bool is_allowed =
          is_new || tree_->allows(*at.node, writes ? kReadRight | kWriteRight : kReadRight);
      if (!is_allowed) return os_error(EACCES, "cannot open", path.str());
      return make_memory_file(tree_, at.node, writes);
    }
    case FileKind::kDirectory:
      return refused("path.is_directory", "a directory", EISDIR);
    case FileKind::kSymlink:
      return refused("path.is_symlink", "a symbolic link", ELOOP);
    default:
      return refused("path.special_file", "a special file", EINVAL);
  }
}

Result<FileStat> MemoryDirectory::stat(const RelPath& path) const {
  const std::lock_guard guard(tree_->mutex);
  const auto at = place("cannot look at", path);
  if (at) return at->node == nullptr ? FileStat{} : memory_stat(*tree_, *at->node);
  if (at.error().os_error == ENOENT || at.error().os_error == ENOTDIR) return FileStat{};
  return at.error();
}

Result<std::string> MemoryDirectory::read_link(const RelPath& path) const {
  const std::lock_guard guard(tree_->mutex);
  GALLEY_ASSIGN(const Place at, existing("cannot read link", path));
  if (at.node->kind != FileKind::kSymlink) {
    return os_error(EINVAL, "cannot read link", path.str());
  }
  return at.node->content;
}

Result<std::vector<DirectoryEntry>> MemoryDirectory::list() const {
  const std::lock_guard guard(tree_->mutex);
  if (!tree_->allows(*node_, kReadRight | kSearchRight)) return os_error(EACCES, "cannot list", "");
  std::vector<DirectoryEntry> entries;
  entries.reserve(node_->entries.size());
  for (const auto& [name, node] : node_->entries) entries.push_back({name, node->kind});
  return entries;
}

Result<void> MemoryDirectory::make_directory(const RelPath& path, uint32_t mode) const {
  const std::lock_guard guard(tree_->mutex);
  GALLEY_ASSIGN(const Place at, place("cannot make directory", path));
  if (at.node != nullptr) return os_error(EEXIST, "cannot make directory", path.str());
  GALLEY_TRY(may_change("cannot make directory", at));
  apply({{at.directory, at.name, make_child(at, FileKind::kDirectory, mode)}});
  return {};
}

Result<void> MemoryDirectory::make_symlink(const RelPath& path, std::string_view target) const {
  const std::lock_guard guard(tree_->mutex);
  GALLEY_ASSIGN(const Place at, place("cannot make symbolic link", path));
  if (at.node != nullptr) return os_error(EEXIST, "cannot make symbolic link", path.str());
  GALLEY_TRY(may_change("cannot make symbolic link", at));
  const auto node = make_child(at, FileKind::kSymlink, 0777);
  node->content = target;
  apply({{at.directory, at.name, node}});
  return {};
}

Result<void> MemoryDirectory::make_hard_link(const RelPath& from,
                                             const WritableDirectory& to_directory,
                                             const RelPath& to) const {
  const std::lock_guard guard(tree_->mutex);
  GALLEY_ASSIGN(const Place source, existing("cannot link", from));
  GALLEY_ASSIGN(const Place target, as_memory(to_directory).place("cannot link", to));
  if (source.node->kind == FileKind::kDirectory) return os_error(EPERM, "cannot link", from.str());
  if (target.node != nullptr) return os_error(EEXIST, "cannot link", to.str());
  GALLEY_TRY(may_change("cannot link", target));
  // As with the sysctl fs.protected_hardlinks.
  const bool may_link =
      tree_->is_owner(*source.node) || tree_->allows(*source.node, kReadRight | kWriteRight);
  if (!may_link) return os_error(EPERM, "cannot link", from.str());
  apply({{target.directory, target.name, source.node}});
  return {};
}

Result<void> MemoryDirectory::remove_file(const RelPath& path) const {
  const std::lock_guard guard(tree_->mutex);
  GALLEY_ASSIGN(const Place at, existing("cannot remove", path));
  if (at.node->kind == FileKind::kDirectory) return os_error(EISDIR, "cannot remove", path.str());
  GALLEY_TRY(may_change("cannot remove", at));
  const size_t size = at.node->content.size();
  apply({{at.directory, at.name, nullptr}});
  if (at.node->nlink == 0 && at.node->kind == FileKind::kRegular) tree_->used_bytes -= size;
  return {};
}

Result<void> MemoryDirectory::remove_directory(const RelPath& path) const {
  const std::lock_guard guard(tree_->mutex);
  GALLEY_ASSIGN(const Place at, existing("cannot remove directory", path));
  int code = 0;
  if (path.is_root()) code = EINVAL;
  if (at.node->kind != FileKind::kDirectory) code = ENOTDIR;
  if (!at.node->entries.empty()) code = ENOTEMPTY;
  if (code != 0) return os_error(code, "cannot remove directory", path.str());
  GALLEY_TRY(may_change("cannot remove directory", at));
  apply({{at.directory, at.name, nullptr}});
  return {};
}

Result<void> MemoryDirectory::check_rename(const Place& from, const Place& to, RenameMode mode) {
  int code = rename_refusal(*from.node, to.node.get(), mode);
  if (would_hold_itself(*from.node, to)) code = EINVAL;
  if (mode == RenameMode::kExchange && to.node != nullptr && would_hold_itself(*to.node, from)) {
    code = EINVAL;
  }
  if (code != 0) return os_error(code, "cannot rename", from.name);
  return {};
}

Result<void> MemoryDirectory::rename(const RelPath& from, const WritableDirectory& to_directory,
                                     const RelPath& to, RenameMode mode) const {
  const std::lock_guard guard(tree_->mutex);
  GALLEY_ASSIGN(const Place source, existing("cannot rename", from));
  GALLEY_ASSIGN(const Place target, as_memory(to_directory).place("cannot rename to", to));
  GALLEY_TRY(check_rename(source, target, mode));
  GALLEY_TRY(may_rename(source, target, mode));
  if (source.node == target.node) return {};  // POSIX: nothing is done for two links of one file
  const auto replaced = mode == RenameMode::kExchange ? target.node : nullptr;
  apply({{source.directory, source.name, replaced}, {target.directory, target.name, source.node}});
  return {};
}

Result<void> MemoryDirectory::set_mode(const RelPath& path, uint32_t mode) const {
  const std::lock_guard guard(tree_->mutex);
  GALLEY_ASSIGN(const Place at, existing("cannot set mode of", path));
  if (at.node->kind == FileKind::kSymlink) {
    return os_error(EOPNOTSUPP, "cannot set mode of", path.str());
  }
  if (const int code = tree_->refuses_mode(*at.node); code != 0) {
    return os_error(code, "cannot set mode of", path.str());
  }
  at.node->mode = tree_->permitted_mode(*at.node, mode);
  touch(at.node);
  return {};
}

Result<void> MemoryDirectory::set_owner(const RelPath& path, uint32_t uid, uint32_t gid) const {
  const std::lock_guard guard(tree_->mutex);
  GALLEY_ASSIGN(const Place at, existing("cannot set owner of", path));
  if (const int code = tree_->refuses_owner(*at.node, uid, gid); code != 0) {
    return os_error(code, "cannot set owner of", path.str());
  }
  if (uid != UINT32_MAX) at.node->uid = uid;
  if (gid != UINT32_MAX) at.node->gid = gid;
  touch(at.node);
  return {};
}

Result<std::vector<ExtendedAttribute>> MemoryDirectory::attributes(const RelPath& path) const {
  const std::lock_guard guard(tree_->mutex);
  GALLEY_ASSIGN(const Place at, existing("cannot read attributes of", path));
  std::vector<ExtendedAttribute> result;
  for (const auto& [name, value] : at.node->attributes) {
    if (name.starts_with("user.") && !tree_->allows(*at.node, kReadRight)) {
      return os_error(EACCES, "cannot read attributes of", path.str());
    }
    result.push_back({name, value});
  }
  return result;
}

Result<void> MemoryDirectory::set_attribute(const RelPath& path,
                                            const ExtendedAttribute& attribute) const {
  const std::lock_guard guard(tree_->mutex);
  GALLEY_ASSIGN(const Place at, existing("cannot set attribute of", path));
  if (const int code = tree_->refuses_attribute(*at.node, attribute.name); code != 0) {
    return os_error(code, "cannot set attribute of", path.str());
  }
  at.node->attributes[attribute.name] = attribute.value;
  touch(at.node);
  return {};
}

Result<void> MemoryDirectory::remove_attribute(const RelPath& path, const std::string& name) const {
  const std::lock_guard guard(tree_->mutex);
  GALLEY_ASSIGN(const Place at, existing("cannot remove attribute of", path));
  if (at.node->attributes.erase(name) > 0) touch(at.node);
  return {};
}

Result<void> MemoryDirectory::sync() const {
  const std::lock_guard guard(tree_->mutex);
  if (!is_readable_ && !tree_->allows(*node_, kReadRight | kSearchRight)) {
    return os_error(EACCES, "cannot sync directory", "");
  }
  if (tree_->observer != nullptr) tree_->observer->on_sync(node_);
  return {};
}

Result<void> MemoryDirectory::sync_file_system() const {
  const std::lock_guard guard(tree_->mutex);
  if (tree_->observer != nullptr) tree_->observer->on_sync_all();
  return {};
}

}  // namespace

MemoryTree::MemoryTree() : now_ns(kEpochNs), root(make_node(FileKind::kDirectory, 0755)) {}

MemoryNodePtr MemoryTree::make_node(FileKind kind, uint32_t mode) {
  auto node = std::make_shared<MemoryNode>();
  node->kind = kind;
  node->mode = mode;
  node->uid = user ? user->uid : ::geteuid();
  node->gid = user ? user->gid : ::getegid();
  node->inode = next_inode++;
  node->mtime_ns = node->ctime_ns = node->birth_ns = ++now_ns;
  return node;
}

MemoryTree* memory_tree_of(const Directory& directory) {
  const auto* memory = dynamic_cast<const MemoryDirectory*>(&directory);
  return memory == nullptr ? nullptr : memory->tree();
}

std::unique_ptr<WritableDirectory> open_memory_tree(std::shared_ptr<MemoryTree> tree) {
  const std::lock_guard guard(tree->mutex);
  return std::make_unique<MemoryDirectory>(tree, tree->root);
}

std::unique_ptr<WritableDirectory> make_memory_directory() {
  return open_memory_tree(std::make_shared<MemoryTree>());
}

namespace {

class MemoryFile final : public WritableFile {
 public:
  MemoryFile(std::shared_ptr<MemoryTree> tree, MemoryNodePtr node, bool is_writable)
      : tree_(std::move(tree)), node_(std::move(node)), is_writable_(is_writable) {}
  ~MemoryFile() override {
    const std::lock_guard guard(tree_->mutex);
    node_->locks.erase(this);
  }

  Result<std::string> read_at(uint64_t offset, size_t count) override {
    const std::lock_guard guard(tree_->mutex);
    if (offset >= node_->content.size()) return std::string();
    return node_->content.substr(static_cast<size_t>(offset), count);
  }

  Result<void> write_at(uint64_t offset, std::string_view bytes) override {
    const std::lock_guard guard(tree_->mutex);
    if (!is_writable_) return os_error(EBADF, "cannot write", "");
    const size_t end = static_cast<size_t>(offset) + bytes.size();
    if (end > node_->content.size()) GALLEY_TRY(resize(end));
    node_->content.replace(static_cast<size_t>(offset), bytes.size(), bytes);
    touch(true);
    return {};
  }

  Result<void> allocate(uint64_t size) override {
    const std::lock_guard guard(tree_->mutex);
    const size_t now = node_->content.size();
    if (size > now && size - now > tree_->capacity_bytes - tree_->used_bytes) return full();
    return {};
  }

  Result<void> truncate(uint64_t size) override {
    const std::lock_guard guard(tree_->mutex);
    if (!is_writable_) return os_error(EINVAL, "cannot truncate", "");
    GALLEY_TRY(resize(static_cast<size_t>(size)));
    touch(true);
    return {};
  }

  Result<void> sync_data() override { return sync(); }
  Result<void> sync() override {
    const std::lock_guard guard(tree_->mutex);
    if (tree_->observer != nullptr) tree_->observer->on_sync(node_);
    return {};
  }

  Result<FileStat> stat() override {
    const std::lock_guard guard(tree_->mutex);
    return memory_stat(*tree_, *node_);
  }

  Result<void> set_mode(uint32_t mode) override {
    const std::lock_guard guard(tree_->mutex);
    if (const int code = tree_->refuses_mode(*node_); code != 0) {
      return os_error(code, "cannot set mode of", "");
    }
    node_->mode = tree_->permitted_mode(*node_, mode);
    touch(false);
    return {};
  }

  Result<void> set_owner(uint32_t uid, uint32_t gid) override {
    const std::lock_guard guard(tree_->mutex);
    if (const int code = tree_->refuses_owner(*node_, uid, gid); code != 0) {
      return os_error(code, "cannot set owner of", "");
    }
    if (uid != UINT32_MAX) node_->uid = uid;
    if (gid != UINT32_MAX) node_->gid = gid;
    touch(false);
    return {};
  }

  Result<void> set_modified(int64_t mtime_ns) override {
    const std::lock_guard guard(tree_->mutex);
    node_->mtime_ns = mtime_ns;
    touch(false);
    return {};
  }

  Result<std::vector<ExtendedAttribute>> attributes() override {
    const std::lock_guard guard(tree_->mutex);
    std::vector<ExtendedAttribute> result;
    for (const auto& [name, value] : node_->attributes) result.push_back({name, value});
    return result;
  }

  Result<void> set_attribute(const ExtendedAttribute& attribute) override {
    const std::lock_guard guard(tree_->mutex);
    if (const int code = tree_->refuses_attribute(*node_, attribute.name); code != 0) {
      return os_error(code, "cannot set attribute of", "");
    }
    node_->attributes[attribute.name] = attribute.value;
    touch(false);
    return {};
  }

  Result<void> remove_attribute(const std::string& name) override {
    const std::lock_guard guard(tree_->mutex);
    if (node_->attributes.erase(name) > 0) touch(false);
    return {};
  }

  Result<bool> try_lock(LockMode mode) override {
    const std::lock_guard guard(tree_->mutex);
    for (const auto& [holder, held] : node_->locks) {
      if (holder == this) continue;
      if (mode == LockMode::kExclusive || held == LockMode::kExclusive) return false;
    }
    node_->locks[this] = mode;
    return true;
  }

  [[nodiscard]] int descriptor() const override { return -1; }

 private:
  static tl::unexpected<Error> full() { return fail(os_error(ENOSPC, "cannot write", "")); }

  Result<void> resize(size_t size) {
    const size_t now = node_->content.size();
    if (size > now && size - now > tree_->capacity_bytes - tree_->used_bytes) return full();
    node_->content.resize(size);
    tree_->used_bytes += size - now;
    return {};
  }

  void touch(bool is_content) {
    node_->ctime_ns = ++tree_->now_ns;
    if (is_content) node_->mtime_ns = node_->ctime_ns;
    if (tree_->observer != nullptr) tree_->observer->on_node(node_);
  }

  std::shared_ptr<MemoryTree> tree_;
  MemoryNodePtr node_;
  bool is_writable_;
};

}  // namespace

std::unique_ptr<WritableFile> make_memory_file(std::shared_ptr<MemoryTree> tree, MemoryNodePtr node,
                                               bool is_writable) {
  return std::make_unique<MemoryFile>(std::move(tree), std::move(node), is_writable);
}

FileStat memory_stat(const MemoryTree& tree, const MemoryNode& node) {
  FileStat stat;
  stat.kind = node.kind;
  stat.mode = node.mode;
  stat.uid = node.uid;
  stat.gid = node.gid;
  stat.nlink = node.nlink;
  stat.size = node.content.size();
  stat.inode = node.inode;
  stat.device = 1;
  stat.mount = tree.mount;
  stat.mtime_ns = node.mtime_ns;
  stat.ctime_ns = node.ctime_ns;
  stat.birth_ns = node.birth_ns;
  return stat;
}

namespace {

constexpr uint32_t kKeep = UINT32_MAX;

}  // namespace

bool MemoryTree::is_owner(const MemoryNode& node) const { return !user || user->uid == node.uid; }

bool MemoryTree::is_member(uint32_t gid) const {
  return !user || user->gid == gid || user->groups.count(gid) != 0;
}

bool MemoryTree::allows(const MemoryNode& node, uint32_t rights) const {
  if (!user) return true;
  uint32_t bits = node.mode;
  if (user->uid == node.uid) {
    bits >>= kOwnerShift;
  } else if (is_member(node.gid)) {
    bits >>= kGroupShift;
  }
  return (bits & rights) == rights;
}

int MemoryTree::refuses_mode(const MemoryNode& node) const { return is_owner(node) ? 0 : EPERM; }

int MemoryTree::refuses_owner(const MemoryNode& node, uint32_t uid, uint32_t gid) const {
  if (!user) return 0;
  const bool keeps_uid = uid == kKeep || uid == node.uid;
  const bool may_group = gid == kKeep || gid == node.gid || is_member(gid);
  return is_owner(node) && keeps_uid && may_group ? 0 : EPERM;
}

int MemoryTree::refuses_attribute(const MemoryNode& node, const std::string& name) const {
  if (!user) return 0;
  if (name.starts_with("user.")) return allows(node, kWriteRight) ? 0 : EACCES;
  return name.starts_with("system.") && is_owner(node) ? 0 : EPERM;
}

uint32_t MemoryTree::permitted_mode(const MemoryNode& node, uint32_t mode) const {
  return is_member(node.gid) ? mode : mode & ~kSetGroupId;
}

}  // namespace galley
