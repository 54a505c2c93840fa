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

/// What one path is to hold once a document is staged.
struct PlannedFile {
  FileKind kind = FileKind::kAbsent;
  uint32_t mode = 0;
  Content content;              ///< bytes of a file, target of a symlink
  std::optional<ContentId> id;  ///< of `content`, where it is known
  bool is_changed = false;
  std::optional<RelPath> moved_from;
  std::optional<RelPath> copied_from;
};

/// The paths that a document touches, computed aside before anything is staged.
///
/// Ownership: borrows the overlay. Threads: confined to one thread.
class FilePlan {
 public:
  explicit FilePlan(Overlay& overlay) : overlay_(overlay) {}
  [[nodiscard]] Overlay& overlay() { return overlay_; }

  /// Says that the document takes this path away: what lies below it is then the document's alone,
  /// also where a symbolic link leads to something now.
  void expect_gone(const RelPath& path) { going_.insert(path); }
  /// What the path holds before the document.
  Result<PlannedFile> original(const RelPath& path);
  /// What the path holds after the edits so far.
  Result<PlannedFile> current(const RelPath& path);
  void put(const RelPath& path, PlannedFile file);
  void remove(const RelPath& path);

  /// Puts everything onto the overlay; on an Error the overlay is as it was.
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
