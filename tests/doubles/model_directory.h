#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "doubles/memory_directory.h"
#include "staging/fs/directory.h"

namespace galley {

/// Tracks which state of a file tree is on disk and which is only in the page cache. Computes the
/// possible states after a power loss.
///
/// Each unsynced directory operation survives or not, in any combination in which every object is
/// in at most one place. Bytes written since the last sync survive completely, by half, as zeros,
/// as an empty file, or not at all. An fsync of a directory makes its operations durable, an fsync
/// of a file its content, and a syncfs everything. ext4, xfs and btrfs promise more, so code that
/// is safe in this model is safe on them.
/// Source: "All File Systems Are Not Created Equal" (ALICE, OSDI 2014).
///
/// Ownership: shares the live tree. Threads: confined to one thread.
class PowerLossModel final : public MemoryObserver {
 public:
  /// At first, everything in the tree is on disk.
  explicit PowerLossModel(std::shared_ptr<MemoryTree> tree);
  ~PowerLossModel() override;
  PowerLossModel(const PowerLossModel&) = delete;
  PowerLossModel& operator=(const PowerLossModel&) = delete;

  /// A possible result of one unsynced operation. A directory operation has only kLost and kWhole.
  enum class UnsyncedOutcome : uint8_t { kLost, kWhole, kHalf, kZeros, kEmpty };

  /// One unsynced operation.
  struct Pending {
    bool is_content = false;         ///< else a directory operation
    uint64_t inode = 0;              ///< of the content
    std::set<uint64_t> inodes;       ///< inodes that the directory operation names
    std::set<uint64_t> directories;  ///< directories of the operation
  };
  [[nodiscard]] std::vector<Pending> pending() const;

  /// The tree after a power loss with these outcomes, one for each of pending(). Null for a state
  /// that no file system can leave: an object in two places.
  [[nodiscard]] std::shared_ptr<MemoryTree> after_power_loss(
      const std::vector<UnsyncedOutcome>& outcomes) const;

  void on_entries(const std::vector<MemoryEntryChange>& changes) override;
  void on_node(const MemoryNodePtr& node) override;
  void on_sync(const MemoryNodePtr& node) override;
  void on_sync_all() override;

 private:
  struct DurableNode {
    FileKind kind = FileKind::kRegular;
    uint32_t mode = 0, uid = 0, gid = 0;
    int64_t mtime_ns = 0;
    int64_t birth_ns = 0;
    std::string content;
    std::map<std::string, std::string> attributes;
    std::map<std::string, uint64_t> entries;
  };
  struct Operation {
    struct Entry {
      uint64_t directory = 0;
      std::string name;
      uint64_t after = 0;  ///< 0: the name is removed
    };
    std::vector<Entry> entries;
    bool is_kept = false;  ///< one of its directories was synced
  };
  using Disk = std::map<uint64_t, DurableNode>;

  void learn(const MemoryNodePtr& node);
  void capture(const MemoryNodePtr& node);
  void capture_tree(const MemoryNodePtr& node);
  static void damage(DurableNode& durable, const MemoryNode& live, UnsyncedOutcome unsynced);
  [[nodiscard]] std::shared_ptr<MemoryTree> build(const Disk& disk) const;

  std::shared_ptr<MemoryTree> tree_;
  Disk disk_;
  std::map<uint64_t, size_t> names_;  ///< initial count for each inode; above 1: hard links
  std::vector<Operation> operations_;
  std::map<uint64_t, MemoryNodePtr> live_;  ///< every node seen since the last syncfs
  std::set<uint64_t> dirty_;                ///< inodes whose content or mode is not synced
};

}  // namespace galley
