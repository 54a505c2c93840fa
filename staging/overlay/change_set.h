#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/content_id.h"
#include "base/rel_path.h"
#include "staging/fs/directory.h"

namespace galley {

/// What one path holds, on one side of a change.
struct Node {
  FileKind kind = FileKind::kAbsent;
  uint32_t mode = 0;  ///< permission bits & 0777; 0 for symlinks and absent
  ContentId content;  ///< of the bytes of a file, of the target of a symlink; none otherwise
  uint64_t size = 0;  ///< bytes of the content

  bool operator==(const Node&) const = default;
};

/// What was on disk when a path was first touched; compared again at commit.
struct BaseStamp {
  uint64_t inode = 0;
  uint64_t device = 0;
  int64_t mtime_ns = 0;
  int64_t ctime_ns = 0;
  int64_t seen_ns = 0;  ///< wall clock of the look, for the racy-timestamp rule

  bool operator==(const BaseStamp&) const = default;
};

/// What happens to one path.
struct Change {
  RelPath path = RelPath::root();
  Node before;
  Node after;
  BaseStamp base;  ///< of `before`
  /// For a created path: the path whose content moved here. That path is in the same change set,
  /// gone or replaced. Only a name for readers and a way to keep the inode: `before` and `after`
  /// of both paths say everything that counts.
  std::optional<RelPath> renamed_from;
  std::optional<RelPath> copied_from;

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

/// Something that was read and may decide what is proposed: a file, a link, a directory, an
/// absence.
struct Read {
  RelPath path = RelPath::root();
  Node node;
  BaseStamp base;                    ///< of `node`
  bool is_changed = false;           ///< it is proposed to change as well: only `listing` counts
  std::optional<ContentId> listing;  ///< listing_id() of a directory whose entries were read

  bool operator==(const Read&) const = default;
};

/// The hash of the names and kinds in a directory, protected names aside.
[[nodiscard]] ContentId listing_id(std::vector<DirectoryEntry> entries);

/// The hash that names a proposal: of paths, nodes and rename sources, not of stamps.
[[nodiscard]] ContentId change_set_id(const ChangeSet& changes);

}  // namespace galley
