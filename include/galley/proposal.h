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

/// What one path holds, on one side of a change. A value.
struct Node {
  FileKind kind = FileKind::kAbsent;
  uint32_t mode = 0;  ///< permission bits & 0777; 0 for symlinks and absent
  ContentId content;  ///< of the bytes of a file, of the target of a symlink; none otherwise
  uint64_t size = 0;  ///< bytes of the content

  bool operator==(const Node&) const = default;
};

/// What happens to one path. A value.
struct Change {
  /// What was on disk when the path was first touched; compared again at commit.
  struct Base {
    uint64_t inode = 0;
    uint64_t device = 0;
    int64_t mtime_ns = 0;
    int64_t ctime_ns = 0;
    int64_t seen_ns = 0;  ///< wall clock of the look, for the racy-timestamp rule

    bool operator==(const Base&) const = default;
  };
  /// When the bytes of the path were written. It orders the times of published files and is no
  /// part of what is proposed: all are equal.
  struct WriteTime {
    int64_t ns = 0;           ///< 0: not known
    bool by_command = false;  ///< a program that ran on the tree, by the clock of its files

    bool operator==(const WriteTime& /*other*/) const { return true; }
  };

  RelPath path = RelPath::root();
  Node before;
  Node after;
  Base base;  ///< of `before`
  /// For a created path: the path whose content moved here. That path is in the same change set,
  /// gone or replaced. Only a name for readers and a way to keep the inode: `before` and `after`
  /// of both paths say everything that counts.
  std::optional<RelPath> renamed_from;
  std::optional<RelPath> copied_from;
  WriteTime written = {};  ///< of `after`

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
  bool operator==(const Change&) const = default;
};

/// Every path that differs from the workspace: one Change a path, sorted by path, none without a
/// difference. Directories are listed when they are made or removed; a created file's missing
/// parents are always listed as created directories.
using ChangeSet = std::vector<Change>;

/// A frozen change set with the contents of both sides, named by its hash: what was shown and
/// judged is what a commit takes.
///
/// Invariant: id() names paths, nodes and rename sources of changes(): a changed byte, mode, path
///            or target makes another id.
/// Ownership: shares the contents; never changes. Copies are cheap but for the list of changes.
/// Threads:   immutable, safe to share.
class Proposal {
 public:
  [[nodiscard]] const ContentId& id() const { return id_; }
  /// Every path that differs from the workspace, sorted by path.
  [[nodiscard]] const ChangeSet& changes() const { return changes_; }
  [[nodiscard]] bool is_empty() const { return changes_.empty(); }
  /// The bytes of a file node or the target of a symlink node of either side.
  /// Errors: kInternal `stage.content_missing`, kIo; kNotFound `history.pruned` for a commit of the
  ///         history that was cleared meanwhile.
  [[nodiscard]] Result<Content> content(const Node& node) const;

  // --- for Galley's own rooms: types that are not installed ------------------------------------
  /// Freezes what the overlay proposes now.
  [[nodiscard]] static Proposal freeze(const Overlay& overlay);
  /// From a change set made elsewhere (undo, merge); every content must be in `store`.
  [[nodiscard]] static Proposal from(ChangeSet changes, std::shared_ptr<const ContentStore> store);
  /// What must still be so at the commit, beside the bases of the changes: what was read, when the
  /// overlay tracks it. No part of the id.
  [[nodiscard]] const std::vector<Read>& reads() const { return *reads_; }
  [[nodiscard]] const std::shared_ptr<const ContentStore>& store() const { return store_; }

 private:
  Proposal() = default;
  ContentId id_;
  ChangeSet changes_;
  std::shared_ptr<const std::vector<Read>> reads_;
  std::shared_ptr<const ContentStore> store_;
};

/// The proposal as `git diff --binary` prints it, files in order of path: applied to the bases by
/// `git apply` it gives the proposed files. Renames are found by similarity as git finds them.
/// Directories, and permission bits other than the executable one, do not appear: git does not know
/// them. The text is whole and not escaped for a terminal.
/// Errors: those of Proposal::content.
[[nodiscard]] Result<std::string> render_diff(const Proposal& proposal);

}  // namespace galley
