#include "doubles/model_directory.h"

#include <algorithm>
#include <functional>

#include "base/result.h"

namespace galley {

PowerLossModel::PowerLossModel(std::shared_ptr<MemoryTree> tree) : tree_(std::move(tree)) {
  const std::lock_guard guard(tree_->mutex);
  GALLEY_CHECK(tree_->observer == nullptr);
  tree_->observer = this;
  capture_tree(tree_->root);
  for (const auto& [inode, durable] : disk_) {
    for (const auto& [name, child] : durable.entries) ++names_[child];
  }
}

PowerLossModel::~PowerLossModel() {
  const std::lock_guard guard(tree_->mutex);
  tree_->observer = nullptr;
}

/// Records that the node's state in memory is now on disk, except for its entries.
void PowerLossModel::capture(const MemoryNodePtr& node) {
  DurableNode& durable = disk_[node->inode];
  durable.kind = node->kind;
  durable.mode = node->mode;
  durable.uid = node->uid;
  durable.gid = node->gid;
  durable.mtime_ns = node->mtime_ns;
  durable.birth_ns = node->birth_ns;
  durable.content = node->content;
  durable.attributes = node->attributes;
  dirty_.erase(node->inode);
}

void PowerLossModel::capture_tree(const MemoryNodePtr& node) {
  capture(node);
  auto& entries = disk_[node->inode].entries;
  entries.clear();
  for (const auto& [name, child] : node->entries) {
    entries[name] = child->inode;
    capture_tree(child);
  }
}

/// Records a new node. Its name is a separate operation, and its content on disk is empty so far.
void PowerLossModel::learn(const MemoryNodePtr& node) {
  live_[node->inode] = node;
  if (disk_.count(node->inode) != 0) return;
  DurableNode& durable = disk_[node->inode];
  durable.kind = node->kind;
  durable.mode = node->mode;
  durable.uid = node->uid;
  durable.gid = node->gid;
  durable.mtime_ns = node->mtime_ns;
  durable.birth_ns = node->birth_ns;
  // The target of a link is a part of its inode, and becomes durable with its name.
  if (node->kind == FileKind::kSymlink) durable.content = node->content;
}

void PowerLossModel::on_entries(const std::vector<MemoryEntryChange>& changes) {
  Operation operation;
  for (const auto& change : changes) {
    learn(change.directory);
    if (change.after != nullptr) learn(change.after);
    operation.entries.push_back(
        {change.directory->inode, change.name, change.after == nullptr ? 0 : change.after->inode});
  }
  operations_.push_back(std::move(operation));
}

void PowerLossModel::on_node(const MemoryNodePtr& node) {
  learn(node);
  dirty_.insert(node->inode);
}

void PowerLossModel::on_sync(const MemoryNodePtr& node) {
  learn(node);
  capture(node);
  if (node->kind != FileKind::kDirectory) return;
  for (auto& operation : operations_) {
    for (const auto& entry : operation.entries) {
      if (entry.directory == node->inode) operation.is_kept = true;
    }
  }
}

void PowerLossModel::on_sync_all() {
  operations_.clear();
  dirty_.clear();
  live_.clear();
  disk_.clear();
  capture_tree(tree_->root);
}

std::vector<PowerLossModel::Pending> PowerLossModel::pending() const {
  std::vector<Pending> result;
  for (const auto& operation : operations_) {
    if (operation.is_kept) continue;
    Pending pending;
    for (const auto& entry : operation.entries) {
      pending.directories.insert(entry.directory);
      if (entry.after != 0) pending.inodes.insert(entry.after);
    }
    result.push_back(std::move(pending));
  }
  for (const uint64_t inode : dirty_) result.push_back({true, inode, {}, {}});
  return result;
}

void PowerLossModel::damage(DurableNode& durable, const MemoryNode& live,
                            UnsyncedOutcome unsynced) {
  if (unsynced == UnsyncedOutcome::kLost) return;
  durable.mode = live.mode;
  durable.uid = live.uid;
  durable.gid = live.gid;
  durable.mtime_ns = live.mtime_ns;
  durable.attributes = live.attributes;
  // Synced bytes stay. Only those from the first byte written since then can be lost.
  const auto written = std::mismatch(durable.content.begin(), durable.content.end(),
                                     live.content.begin(), live.content.end());
  const auto kept = static_cast<size_t>(written.first - durable.content.begin());
  const std::string fresh = live.content.substr(kept);
  durable.content.resize(kept);
  switch (unsynced) {
    case UnsyncedOutcome::kHalf:
      durable.content += fresh.substr(0, fresh.size() / 2);
      break;
    case UnsyncedOutcome::kZeros:
      durable.content += std::string(fresh.size(), '\0');
      break;
    case UnsyncedOutcome::kEmpty:
      break;
    default:
      durable.content += fresh;
      break;
  }
}

std::shared_ptr<MemoryTree> PowerLossModel::after_power_loss(
    const std::vector<UnsyncedOutcome>& outcomes) const {
  Disk disk = disk_;
  size_t next = 0;
  for (const auto& operation : operations_) {
    if (!operation.is_kept && outcomes.at(next++) == UnsyncedOutcome::kLost) continue;
    for (const auto& entry : operation.entries) {
      auto& entries = disk[entry.directory].entries;
      if (entry.after == 0) {
        entries.erase(entry.name);
      } else {
        entries[entry.name] = entry.after;
      }
    }
  }
  for (const uint64_t inode : dirty_) damage(disk[inode], *live_.at(inode), outcomes.at(next++));
  auto left = build(disk);
  if (left != nullptr) left->user = tree_->user;
  return left;
}

std::shared_ptr<MemoryTree> PowerLossModel::build(const Disk& disk) const {
  auto tree = std::make_shared<MemoryTree>();
  tree->now_ns = tree_->now_ns;
  tree->next_inode = disk.rbegin()->first + 1;
  std::map<uint64_t, std::pair<MemoryNodePtr, size_t>> made_nodes;  // and the number of its names
  bool is_possible = true;
  const std::function<MemoryNodePtr(uint64_t)> make = [&](uint64_t inode) -> MemoryNodePtr {
    // If it has more names than at first, only half of a rename is on disk.
    auto& [known, names] = made_nodes[inode];
    const auto had = names_.find(inode);
    if (++names > std::max<size_t>(1, had == names_.end() ? 0 : had->second)) is_possible = false;
    if (!is_possible || known != nullptr) return is_possible ? known : nullptr;
    const DurableNode& durable = disk.at(inode);
    auto node = known = std::make_shared<MemoryNode>();
    node->kind = durable.kind;
    node->mode = durable.mode;
    node->uid = durable.uid;
    node->gid = durable.gid;
    node->inode = inode;
    node->mtime_ns = node->ctime_ns = durable.mtime_ns;
    node->birth_ns = durable.birth_ns;
    node->content = durable.content;
    tree->used_bytes += node->content.size();
    node->attributes = durable.attributes;
    for (const auto& [name, child] : durable.entries) {
      auto made = make(child);
      if (made == nullptr) return nullptr;
      ++made->nlink;
      node->entries.emplace(name, std::move(made));
    }
    return node;
  };
  tree->root = make(tree_->root->inode);
  return is_possible ? tree : nullptr;
}

}  // namespace galley
