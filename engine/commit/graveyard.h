#pragma once

#include <memory>

#include "base/result.h"
#include "engine/commit/state_directory.h"
#include "engine/commit/writer_lock.h"
#include "staging/fs/directory.h"

namespace galley {

/// `.galley/runs/graveyard/`: empty directories that were removed from the workspace while runs
/// were live. A view that shows such a directory reads it as long as the run lasts, and a directory
/// that was removed cannot be read: the view would show an empty one.
///
/// It is there while runs may be live: the start of a run makes it, and whoever finds that none is
/// left takes it away, both under the writer lock.
///
/// Threads: confined to the holder of the writer lock.
class Graveyard {
 public:
  Graveyard() = default;  ///< none: remove() is rmdir
  /// Makes it, or takes the one that is there.
  static Result<Graveyard> need(const StateDirectory& state, const WriterLock& lock);
  /// Opens the one that is there, else returns none.
  static Result<Graveyard> find(const StateDirectory& state);
  /// Takes it away with all it holds; fine when it is not there.
  static Result<void> clear(const StateDirectory& state, const WriterLock& lock);

  [[nodiscard]] bool is_there() const { return place_ != nullptr; }
  /// Removes an empty directory: to the graveyard when there is one.
  /// Errors: as WritableDirectory::remove_directory; ENOTEMPTY when something is in it.
  Result<void> remove(const WritableDirectory& from, const RelPath& name) const;

 private:
  explicit Graveyard(std::shared_ptr<const WritableDirectory> place) : place_(std::move(place)) {}

  std::shared_ptr<const WritableDirectory> place_;
};

}  // namespace galley
