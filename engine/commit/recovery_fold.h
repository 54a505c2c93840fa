#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/commit/journal.h"
#include "engine/commit/workspace_view.h"

namespace galley {

/// The combined state of one path in all unfinished journals.
///
/// Ownership: points into the journals, which must outlive it.
struct JournaledPath {
  const Journal* journal = nullptr;  ///< the last one that names the path
  const JournalOp* op = nullptr;
  JournalSide target;         ///< the state that the path must get
  bool is_backward = false;   ///< that journal was aborted
  bool may_be_torn = false;   ///< power was lost, or may have been lost, since it was written
  bool has_owner = false;     ///< a journal changes its owner: all nodes have their owners
  bool is_unflushed = false;  ///< a flush of it failed: its contents may be only in the page cache
  struct Image {
    Node node;
    int64_t mtime_ns = 0;  ///< of an old object; 0 for a new one
    const Journal* journal = nullptr;
    const JournalOp* op = nullptr;
  };
  std::vector<Image> known;  ///< every image of the path in the chain
};

using JournaledPaths = std::map<RelPath, JournaledPath>;

/// Merges journals, given in ascending order, by path.
[[nodiscard]] JournaledPaths merge_journals(const std::vector<JournalVerdict>& journals,
                                            const std::string& session);

/// The present state of a path.
struct Seen {
  Node node;
  FileStat stat;
  bool is_reachable = false;  ///< its parent exists
  /// Its mode does not let us read it: only the stat is known, `node.content` is empty.
  bool is_unreadable = false;
};

/// Makes directories writable and searchable for their owner while recovery works in them.
///
/// Errors: a directory that cannot be opened is not an error here; the code that needs it reports
///         it.
class OpenedDirectories {
 public:
  Result<void> open(const JournaledPaths& folds, WorkspaceView& view);
  /// Gives the directories the mode of their target, also those that an earlier run left open. A
  /// directory that should be gone but still contains foreign files gets its former mode.
  Result<void> close(const JournaledPaths& folds, WorkspaceView& view);

 private:
  Result<void> open_one(const JournaledPaths& folds, const JournaledPath& fold,
                        WorkspaceView& view);
  static Result<void> close_one(const RelPath& path, uint32_t open, uint32_t closed,
                                WorkspaceView& view);
  std::map<RelPath, uint32_t> modes_;
};

enum class PathState : uint8_t {
  kDone,     ///< it equals the target
  kKnown,    ///< one of our images, perhaps torn by a power cut
  kForeign,  ///< written by another program
};

/// Looks at the path of a fold. When a parent is missing or is not a directory, the path counts as
/// absent. With `is_dry` it also counts as absent when a parent would have to be opened first.
Result<Seen> look(const JournaledPath& fold, WorkspaceView& view, bool is_dry);
/// Whether a swap caught the same object that was seen before the swap. An object that was
/// unreadable then is read now.
Result<bool> is_as_seen(const JournaledPath& fold, const Seen& seen, const Location& caught);

/// Decides where the present bytes come from. An unreadable file is kKnown if its stat fits one of
/// our images. It is kDone only if its stat fits no other image than the target. A swap moves a
/// known one to the slots, where it is read.
Result<PathState> judge(const JournaledPath& fold, const Seen& seen, WorkspaceView& view);
/// Sets owner and group of a new directory again when a power cut may have lost them, and returns
/// the special bits of its mode: its own and those that its parent passes on.
Result<uint32_t> restore_inheritance(const JournaledPath& fold, const Seen& seen,
                                     const WritableDirectory& own, const FileStat& parent);
/// Whether the present owner is that of an image, or no journal changes the owner.
[[nodiscard]] bool is_known_owner(const JournaledPath& fold, const Seen& seen);
/// Whether the path is this kind of object in some image of the chain. A path that changes between
/// a directory and another kind is also absent for a moment during recovery.
[[nodiscard]] bool is_known_kind(const JournaledPath& fold, FileKind kind);
/// Whether the path must get a file whose content came with one of the journals.
[[nodiscard]] bool is_written_by_us(const JournaledPath& fold);
/// Whether a path of the folds is below this one.
[[nodiscard]] bool has_path_below(const JournaledPaths& folds, const RelPath& path);
/// Whether an object must exist below this path.
[[nodiscard]] bool has_content_below(const JournaledPaths& folds, const RelPath& path);

}  // namespace galley
