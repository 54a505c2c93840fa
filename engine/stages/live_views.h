#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/rel_path.h"
#include "base/result.h"
#include "engine/commit/state_directory.h"
#include "staging/fs/directory.h"
#include "staging/overlay/change_set.h"

namespace galley {

/// Keeps the present contents of these paths in the view of every live run (see view_pins.h). The
/// holder of the writer lock calls it before it changes the paths. A run that ended in the meantime
/// is skipped.
///
/// The note of a run is not trusted. The process must belong to this user and have the start time
/// in the note, and its open descriptor must be an overlay with the run's upper layer.
///
/// Errors: kRefused `run.not_pinned`, which names the run and the remedy. The caller need not undo
///         anything.
[[nodiscard]] Result<void> pin_live_views(const StateDirectory& state, const ChangeSet& changes);

/// The view of one live run, for a caller that reads and writes it as the run's program could.
///
/// Ownership: owns its descriptors. It does not keep the run alive.
/// Threads:   confined to one thread.
class OpenView {
 public:
  /// Errors: kNotFound `run.not_found` when the run has ended; kRefused `run.not_pinned`.
  [[nodiscard]] static Result<OpenView> open(const StateDirectory& state, const std::string& tx);

  [[nodiscard]] const Directory& files() const { return *mount_; }
  /// As put_in_view().
  [[nodiscard]] Result<void> put(const RelPath& path, const Node& node,
                                 std::string_view bytes) const;

 private:
  OpenView(std::unique_ptr<WritableDirectory> mount, std::unique_ptr<WritableDirectory> upper)
      : mount_(std::move(mount)), upper_(std::move(upper)) {}

  std::unique_ptr<WritableDirectory> mount_;
  std::unique_ptr<WritableDirectory> upper_;
};

/// Deletes RemovedDirectories (engine/commit/retire.h) after the last run has ended. If another
/// process publishes now, a later call deletes it.
Result<void> clear_removed_directories(const StateDirectory& state, const Clock& clock);

}  // namespace galley
