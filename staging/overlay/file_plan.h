#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/rel_path.h"
#include "base/result.h"
#include "staging/overlay/overlay.h"

namespace galley {

/// The content of one path after a document is staged.
struct PlannedFile {
  FileKind kind = FileKind::kAbsent;
  uint32_t mode = 0;
  Content content;              ///< bytes of a file, or target of a symlink
  std::optional<ContentId> id;  ///< of `content`, if known
  bool is_changed = false;
  std::optional<RelPath> moved_from;
  std::optional<RelPath> copied_from;
};

/// The results for all paths that a document changes, computed before anything is staged.
///
/// Ownership: borrows the overlay. Threads: confined to one thread.
class FilePlan {
 public:
  explicit FilePlan(Overlay& overlay) : overlay_(overlay) {}
  [[nodiscard]] Overlay& overlay() { return overlay_; }

  /// Marks a path that the document removes. Paths below it then depend only on the document, even
  /// if the path is a symbolic link now.
  void mark_removed(const RelPath& path) { going_.insert(path); }
  /// Whether a path has no file because the document or the transaction moves or deletes it.
  [[nodiscard]] bool is_removed(const RelPath& path);
  /// The content of the path before the document.
  Result<PlannedFile> original(const RelPath& path);
  /// The content of the path after the edits so far.
  Result<PlannedFile> current(const RelPath& path);
  void put(const RelPath& path, PlannedFile file);
  void remove(const RelPath& path);

  /// Stages everything in the overlay. After an Error the overlay is unchanged.
  Result<void> stage();

 private:
  Result<bool> lies_below_going_link(const RelPath& path);
  Result<void> stage_all();
  Result<void> stage_moves();
  Result<void> write(const RelPath& path, const PlannedFile& file);

  Overlay& overlay_;
  std::map<RelPath, PlannedFile> originals_;
  std::map<RelPath, PlannedFile> files_;
  std::set<RelPath> going_;
};

}  // namespace galley
