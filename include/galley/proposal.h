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

/// The contents of one path on one side of a change. A value.
struct Node {
  FileKind kind = FileKind::kAbsent;
  uint32_t mode = 0;  ///< permission bits & 0777; 0 for symlinks and absent
  ContentId content;  ///< of a file's bytes or a symlink's target; zero otherwise
  uint64_t size = 0;  ///< bytes of the content

  bool operator==(const Node&) const = default;
};

/// The change of one path. A value.
struct Change {
  /// The state on disk when the path was first touched; it is compared again at commit.
  struct Base {
    uint64_t inode = 0;
    uint64_t device = 0;
    int64_t mtime_ns = 0;
    int64_t ctime_ns = 0;
    int64_t seen_ns = 0;  ///< wall clock when it was read, for the racy-timestamp rule

    bool operator==(const Base&) const = default;
  };
  /// When the bytes of the path were written. It orders the times of published files. It does not
  /// belong to the proposal: all values compare equal.
  struct WriteTime {
    int64_t ns = 0;           ///< 0: not known
    bool by_command = false;  ///< written by a command; the time is that of its file

    bool operator==(const WriteTime& /*other*/) const { return true; }
  };

  RelPath path = RelPath::root();
  Node before;
  Node after;
  Base base;  ///< of `before`
  /// For a created path: the path whose content moved here. That path is in the same change set,
  /// removed or replaced. Readers see the name, and the inode can be kept; `before` and `after` of
  /// both paths fully describe the change.
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

/// Every path that differs from the workspace: one Change per path, sorted by path, none without a
/// difference. A directory is listed when it is made or removed; the missing parents of a created
/// file are always listed as created directories.
using ChangeSet = std::vector<Change>;

/// A frozen change set with the contents of both sides, named by its hash. A commit takes exactly
/// what was shown and judged.
///
/// Invariant: id() covers paths, nodes and rename sources of changes(): a changed byte, mode, path
///            or target makes another id.
/// Ownership: shares the contents; never changes. Copying is cheap except for the list of changes.
/// Threads:   immutable, safe to share.
class Proposal {
 public:
  [[nodiscard]] const ContentId& id() const { return id_; }
  /// Every path that differs from the workspace, sorted by path.
  [[nodiscard]] const ChangeSet& changes() const { return changes_; }
  [[nodiscard]] bool is_empty() const { return changes_.empty(); }
  /// The bytes of a file node or the target of a symlink node of either side.
  /// Errors: kInternal `stage.content_missing`, kIo; kNotFound `history.pruned` for a commit whose
  ///         history was cleared meanwhile.
  [[nodiscard]] Result<Content> content(const Node& node) const;

  // --- for Galley's own rooms: types that are not installed ------------------------------------
  /// Freezes what the overlay proposes now.
  [[nodiscard]] static Proposal freeze(const Overlay& overlay);
  /// From a change set made elsewhere (undo, merge); `store` must have every content.
  [[nodiscard]] static Proposal from(ChangeSet changes, std::shared_ptr<const ContentStore> store);
  /// The overlay's reads, if it tracks reads. A commit compares them, as it compares the bases of
  /// the changes. Not part of the id.
  [[nodiscard]] const std::vector<Read>& reads() const { return *reads_; }
  [[nodiscard]] const std::shared_ptr<const ContentStore>& store() const { return store_; }

 private:
  Proposal() = default;
  ContentId id_;
  ChangeSet changes_;
  std::shared_ptr<const std::vector<Read>> reads_;
  std::shared_ptr<const ContentStore> store_;
};

/// The proposal as `git diff --binary` prints it, files sorted by path: `git apply` turns the bases
/// into the proposed files with it. Renames are found by similarity as in git. Directories, and
/// permission bits other than the executable one, do not appear: git does not store them. The text
/// is complete and not escaped for a terminal.
/// Errors: those of Proposal::content.
[[nodiscard]] Result<std::string> render_diff(const Proposal& proposal);

}  // namespace galley
