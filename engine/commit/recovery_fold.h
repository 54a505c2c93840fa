#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/commit/journal.h"
#include "engine/commit/workspace_view.h"

namespace galley {

/// What all unfinished journals together say about one path.
///
/// Ownership: points into the journals, which must outlive it.
struct JournaledPath {
  const Journal* journal = nullptr;  ///< the last one that names the path
  const JournalOp* op = nullptr;
  JournalSide target;         ///< what the path has to hold
  bool is_backward = false;   ///< that journal was aborted
  bool may_be_torn = false;   ///< power was lost, or may have been, since it was written
  bool is_unflushed = false;  ///< a flush of it failed: the page cache may not be on the disk
  struct Image {
    Node node;
    int64_t mtime_ns = 0;  ///< of an old object, 0 for ours
    const Journal* journal = nullptr;
    const JournalOp* op = nullptr;
  };
  std::vector<Image> known;  ///< every image of the path in the chain
};

using JournaledPaths = std::map<RelPath, JournaledPath>;

/// JournaledPaths journals in ascending order.
[[nodiscard]] JournaledPaths fold_journals(const std::vector<JournalVerdict>& journals,
                                           const std::string& session);

/// What stands at a path now.
struct Seen {
  Node node;
  FileStat stat;
  bool is_reachable = false;  ///< its parent is there
  /// Its mode does not let us read it: the stat alone tells, `node.content` is none.
  bool is_unreadable = false;
};

/// Directories that let their owner change and search them while recovery is at work in them.
///
/// Errors: none of its own; what cannot be opened is told by whoever needs it.
class OpenedDirectories {
 public:
  Result<void> open(const JournaledPaths& folds, WorkspaceView& view);
  /// Gives them the mode of their target, also those that an earlier run left open. Those that stay
  /// though they should have gone, because somebody's files are in them, get the one they had.
  Result<void> close(const JournaledPaths& folds, WorkspaceView& view);

 private:
  Result<void> open_one(const JournaledPaths& folds, const JournaledPath& fold,
                        WorkspaceView& view);
  static Result<void> close_one(const RelPath& path, uint32_t open, uint32_t closed,
                                WorkspaceView& view);
  std::map<RelPath, uint32_t> modes_;
};

enum class PathState : uint8_t {
  kDone,     ///< it is the target
  kKnown,    ///< one of our images, or what a power cut left of one
  kForeign,  ///< somebody else's
};

/// What stands at the path of a fold. A missing parent, or one that is no directory, means that
/// nothing is there; `is_dry`: so does one that would have to be opened first.
Result<Seen> look(const JournaledPath& fold, WorkspaceView& view, bool is_dry);
/// Whether a swap caught what was there before it. What could not be read then is read now.
Result<bool> is_as_seen(const JournaledPath& fold, const Seen& seen, const Location& caught);

/// Whose bytes these are. An unreadable file is known when the stat fits one of our images, and
/// done only when nothing else could be it: what a swap catches is read in the slots.
Result<PathState> judge(const JournaledPath& fold, const Seen& seen, WorkspaceView& view);
/// Gives a new directory its owner and group once more where a power cut may have taken them, and
/// tells the special bits of its mode: those it has, and what its parent passes on.
Result<uint32_t> restore_inheritance(const JournaledPath& fold, const Seen& seen,
                                     const Location& at);
/// Whether the chain knows the path as this kind of object. A path that turns from a directory into
/// something else, or back, is also absent for a moment of recovery itself.
[[nodiscard]] bool is_known_kind(const JournaledPath& fold, FileKind kind);
/// Whether the path has to hold a file whose content came with one of the journals.
[[nodiscard]] bool is_written_by_us(const JournaledPath& fold);
/// Whether a path of the folds is below this one.
[[nodiscard]] bool has_path_below(const JournaledPaths& folds, const RelPath& path);
/// Whether something has to stand below this path.
[[nodiscard]] bool has_content_below(const JournaledPaths& folds, const RelPath& path);

}  // namespace galley
