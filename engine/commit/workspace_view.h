#pragma once

#include <map>
#include <memory>
#include <optional>

#include "base/file_mode.h"
#include "staging/fs/directory.h"
#include "staging/overlay/change_set.h"

namespace galley {

/// The special bits that a directory keeps when its mode is set. Setuid means nothing there.
inline constexpr uint32_t kKeptSpecialBits = kSetGroupId | kSticky;

/// A name in an open directory.
struct Location {
  const WritableDirectory* directory = nullptr;
  RelPath name = RelPath::root();
};

/// The present state of the workspace, read through parents that are opened once.
///
/// Invariant: every parent it hands out is on the mount of the workspace root.
/// Ownership: borrows the workspace; owns the parents, a bounded number of them.
/// Threads:   confined to one thread.
/// Errors:    kRefused `commit.crosses_mount`; those of Directory.
class WorkspaceView {
 public:
  explicit WorkspaceView(const WritableDirectory& workspace) : workspace_(&workspace) {}

  /// Opens the parent of a path. The result is valid until the next call.
  Result<Location> locate(const RelPath& path);
  /// Closes the open parents; call it after directories were moved or removed.
  void forget() { parents_.clear(); }
  [[nodiscard]] const WritableDirectory& root() const { return *workspace_; }
  /// The mount of all located paths.
  [[nodiscard]] uint64_t mount() const { return mount_.value_or(0); }

 private:
  static constexpr size_t kMaxOpenParents = 64;  ///< directories that a commit keeps open
  const WritableDirectory* workspace_;
  std::map<RelPath, std::unique_ptr<WritableDirectory>> parents_;
  std::optional<uint64_t> mount_;
};

/// Opens the directory that `seen` describes, so that its owner and mode can be changed although
/// another program may give its name to another object meanwhile.
/// Errors: ENOENT, ENOTDIR or ELOOP when it no longer has the name.
Result<std::unique_ptr<WritableDirectory>> open_seen_directory(const Location& at,
                                                               const FileStat& seen);

/// Returns the node at a name, with its content hashed; kOther for special files. Stores the stat
/// in `stat`.
Result<Node> observe(const Location& at, FileStat* stat = nullptr);
/// Does the same for an object whose stat is known.
Result<Node> observe(const Location& at, const FileStat& stat);

/// Does the same, but opens the file first, which saves a system call. Use it only where the open
/// cannot block on a FIFO.
Result<Node> observe_opened(const Location& at);

/// The SHA-256 of a file, read in pieces.
Result<ContentId> hash_file(File& file);

}  // namespace galley
