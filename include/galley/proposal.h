#pragma once

#include <galley/error.h>
#include <galley/path.h>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace galley {

class ContentStore;
class Overlay;
struct Read;

/// The state of one path on one side of a change (before or after). A value.
struct Node {
  /// User and group of a path, as numbers.
  struct Owner {
    uint32_t uid = 0;
    uint32_t gid = 0;

    bool operator==(const Owner&) const = default;
  };

  FileKind kind = FileKind::kAbsent;
  uint32_t mode = 0;  ///< permission bits & 0777; 0 for a symlink or an absent path
  ContentId content;  ///< of the file's bytes or the symlink's target; else zero
  uint64_t size = 0;  ///< bytes of the content
  /// Set on both sides if the transaction stages the owner of the path; a new path has it only on
  /// the side after. Else the owner is not part of the change.
  std::optional<Owner> owner = {};

  bool operator==(const Node&) const = default;
};

/// The change of one path. A value.
struct Change {
  /// The metadata of the path when the transaction first touched it. A commit compares it again.
  struct Base {
    uint64_t inode = 0;
    uint64_t device = 0;
    int64_t mtime_ns = 0;
    int64_t ctime_ns = 0;
    int64_t seen_ns = 0;  ///< wall clock when it was read; a file that changed just before it
                          ///< is compared by content (git's racy-git rule)

    bool operator==(const Base&) const = default;
  };
  /// When the bytes of the path were written. If a command wrote one of the files, a commit keeps
  /// this order in their modification times. It is not part of the change: all values are equal.
  struct WriteTime {
    int64_t ns = 0;           ///< 0: not known
    bool by_command = false;  ///< a command wrote it; `ns` is the file's mtime

    bool operator==(const WriteTime& /*other*/) const { return true; }
  };

  RelPath path = RelPath::root();
  Node before;
  Node after;
  Base base;  ///< of `before`
  /// For a created path: the path from which the content was moved. The same change set removes or
  /// replaces that path, so this member only adds information. With it a diff shows the rename, and
  /// a commit can move the inode.
  std::optional<RelPath> renamed_from;
  std::optional<RelPath> copied_from;  ///< the path from which the content was copied
  WriteTime written = {};              ///< of `after`

  [[nodiscard]] bool is_create() const {
    return before.kind == FileKind::kAbsent && after.kind != FileKind::kAbsent;
  }
  [[nodiscard]] bool is_delete() const {
    return before.kind != FileKind::kAbsent && after.kind == FileKind::kAbsent;
  }
  [[nodiscard]] bool is_type_change() const {
    return before.kind != FileKind::kAbsent && after.kind != FileKind::kAbsent &&
           before.kind != after.kind;
  }
  /// A file or link that is deleted, or replaced by a directory.
  [[nodiscard]] bool removes_file() const {
    const bool was_file = before.kind == FileKind::kRegular || before.kind == FileKind::kSymlink;
    return was_file && (after.kind == FileKind::kAbsent || after.kind == FileKind::kDirectory);
  }
  bool operator==(const Change&) const = default;
};

/// The paths that differ from the workspace: one Change for each, sorted by path. A directory is
/// listed if it is created, removed, or gets another mode. The missing parents of a created file
/// are always listed as created directories.
using ChangeSet = std::vector<Change>;

/// A frozen change set with the contents of both sides, named by its hash. A commit publishes
/// exactly the proposal that was shown and judged.
///
/// Invariant: id() is the hash of the paths, nodes and rename sources of changes(). A different
///            byte, mode, path or target gives a different id.
/// Ownership: shares the contents. A copy copies only the list of changes.
/// Threads:   immutable, safe to share.
class Proposal {
 public:
  [[nodiscard]] const ContentId& id() const { return id_; }
  [[nodiscard]] const ChangeSet& changes() const { return changes_; }
  [[nodiscard]] bool is_empty() const { return changes_.empty(); }
  /// Returns the bytes of a file, or the target of a symlink, of either side.
  /// Errors: kInternal `stage.content_missing`, kIo; kNotFound `history.pruned` if the
  ///         history of this commit was cleared in the meantime.
  [[nodiscard]] Result<Content> content(const Node& node) const;

  // --- for Galley's own rooms: types that are not installed ------------------------------------
  /// Freezes the staged changes of the overlay.
  [[nodiscard]] static Proposal freeze(const Overlay& overlay);
  /// Makes a proposal from another change set (undo, merge). `store` must have every content.
  [[nodiscard]] static Proposal from(ChangeSet changes, std::shared_ptr<const ContentStore> store);
  /// Returns the reads of the overlay, if it tracks reads. A commit compares them with the
  /// workspace, like the bases of the changes. They are not part of the id.
  [[nodiscard]] const std::vector<Read>& reads() const { return *reads_; }
  [[nodiscard]] const std::shared_ptr<const ContentStore>& store() const { return store_; }

 private:
  Proposal() = default;
  ContentId id_;
  ChangeSet changes_;
  std::shared_ptr<const std::vector<Read>> reads_;
  std::shared_ptr<const ContentStore> store_;
};

/// Returns the whole proposal as `git diff --binary` prints it, sorted by path. `git apply` accepts
/// it. Renames are found by similarity, as in git. The text does not contain directories, and only
/// the executable bit of a mode, since git does not store more. It is not escaped for a terminal.
/// Errors: those of Proposal::content.
[[nodiscard]] Result<std::string> render_diff(const Proposal& proposal);

}  // namespace galley
