#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "staging/fs/directory.h"
#include "staging/fs/memory_directory.h"

namespace galley {

/// A file tree that knows which state is on disk and which only in the page cache, and lists the
/// possible states after a power cut.
///
/// After "All File Systems Are Not Created Equal" (ALICE, OSDI 2014). An unsynced directory
/// operation survives or not, in any combination that leaves every object at most once. Bytes
/// written since the last sync survive completely, by half, as zeros, as an empty file, or not at
/// all. An fsync of a directory keeps its operations, of a file its content, a syncfs everything.
/// ext4, xfs and btrfs promise more than that, so code that is safe here is safe there.
///
/// Ownership: shares the live tree. Threads: confined to one thread.
class PowerLossModel final : public MemoryObserver {
 public:
  /// Begins with everything in the tree on disk.
  explicit PowerLossModel(std::shared_ptr<MemoryTree> tree);
  ~PowerLossModel() override;
  PowerLossModel(const PowerLossModel&) = delete;
  PowerLossModel& operator=(const PowerLossModel&) = delete;

  /// The possible result for one unsynced operation. Directory operations have only kLost and
  /// kWhole.
  enum class UnsyncedOutcome : uint8_t { kLost, kWhole, kHalf, kZeros, kEmpty };

  /// One unsynced operation.
  struct Pending {
    bool is_content = false;         ///< else a directory operation
    uint64_t inode = 0;              ///< of the content
    std::set<uint64_t> inodes;       ///< inodes that a directory operation names
    std::set<uint64_t> directories;  ///< directories of the operation
  };
  [[nodiscard]] std::vector<Pending> pending() const;

  /// The tree after a power cut with these fates, one for each of pending(); null for a state that
  /// no file system could leave (an object in two places).
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
  std::map<uint64_t, size_t> names_;  ///< of each inode at first; above 1: hard links
  std::vector<Operation> operations_;
  std::map<uint64_t, MemoryNodePtr> live_;  ///< every node seen since the last syncfs
  std::set<uint64_t> dirty_;                ///< inodes whose content or mode is not synced
};

}  // namespace galley
