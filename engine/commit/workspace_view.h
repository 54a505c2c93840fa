#pragma once

#include <map>
#include <memory>
#include <optional>

#include "staging/fs/directory.h"
#include "staging/overlay/change_set.h"

namespace galley {

/// A name in an open directory.
struct Location {
  const WritableDirectory* directory = nullptr;
  RelPath name = RelPath::root();
};

/// What stands in the workspace now, reached through parents that are opened once.
///
/// Invariant: every parent it hands out lies on the mount of the workspace root.
/// Ownership: borrows the workspace; owns the parents, a bounded number of them.
/// Threads:   confined to one thread.
/// Errors:    kRefused `commit.crosses_mount`; those of Directory.
class WorkspaceView {
 public:
  explicit WorkspaceView(const WritableDirectory& workspace) : workspace_(&workspace) {}

  /// Valid until the next call.
  Result<Location> locate(const RelPath& path);
  /// Forgets the open parents, for when directories were moved or removed.
  void forget() { parents_.clear(); }
  [[nodiscard]] const WritableDirectory& root() const { return *workspace_; }
  /// The mount of everything it located.
  [[nodiscard]] uint64_t mount() const { return mount_.value_or(0); }

 private:
  static constexpr size_t kMaxOpenParents = 64;
  const WritableDirectory* workspace_;
  std::map<RelPath, std::unique_ptr<WritableDirectory>> parents_;
  std::optional<uint64_t> mount_;
};

/// What a name holds, its content hashed; kOther for special files. `stat` gets the look it took.
Result<Node> observe(const Location& at, FileStat* stat = nullptr);
/// As observe(), for something whose stat is known.
Result<Node> observe(const Location& at, const FileStat& stat);

/// As observe(), by opening the file first, which is a call less; for places where nobody waits at
/// a FIFO.
Result<Node> observe_opened(const Location& at);

/// The SHA-256 of a file, read in pieces; `size` is what it is expected to have.
Result<ContentId> hash_file(File& file, uint64_t size);

}  // namespace galley
