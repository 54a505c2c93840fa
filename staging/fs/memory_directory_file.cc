#include <algorithm>
#include <cerrno>

#include "staging/fs/memory_tree.h"

namespace galley {
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

}  // namespace galley
