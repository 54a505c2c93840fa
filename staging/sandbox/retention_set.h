#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "staging/fs/directory.h"
#include "staging/overlay/change_set.h"
#include "staging/overlay/overlay.h"
#include "staging/sandbox/command_runner.h"

namespace galley {

/// Refuses (`sandbox.keep_link`) a path with a component that is a symbolic link in the proposed
/// tree: a missing directory would be made where the link leads.
[[nodiscard]] Result<void> refuse_links_to_keep(const std::vector<RelPath>& paths,
                                                Overlay& overlay);

/// The directories that persist between the runs of one validator, locked for one run.
///
/// Ownership: owns the lock; the kernel releases it when the process dies.
/// Errors:    kTimeout `sandbox.keep_busy` when another run holds them for the whole wall time of
///            the command, kTimeout `sandbox.cancelled` when the command is stopped first.
class RetentionSet {
 public:
  /// Locks the set and makes the missing directories of `command.keep` below `home`. They belong to
  /// the owner of `workspace_root`. If it is not known what they were made from, they are emptied.
  static Result<RetentionSet> take(const std::string& home, const Command& command,
                                   const FileStat& workspace_root, const Clock& clock);

  /// Absolute paths of the directories on the host, in the order of `command.keep`.
  [[nodiscard]] const std::vector<std::string>& paths() const { return paths_; }

  /// Sets the times of a view for the next run. A path that the last run saw in another state, or
  /// not changed, counts as written at `now_ns`, and keeps this time as long as it stays so: else a
  /// product of another proposal could be newer than its source. A file that is no longer staged
  /// gets into `restored`, unless the disk has a newer time for the same content.
  Result<void> set_times(Overlay& overlay, int64_t now_ns, ChangeSet& changes, ChangeSet& restored);

 private:
  Result<void> empty();
  Result<void> note_seen(Overlay::Entries seen);

  std::unique_ptr<WritableDirectory> home_;
  FileStat root_;               ///< the workspace's, whose owner the directories get
  std::vector<RelPath> names_;  ///< of the directories in `home_`
  std::unique_ptr<WritableFile> lock_;
  std::string seen_name_;
  std::optional<Overlay::Entries> seen_;  ///< what the last run saw, if it is known
  std::vector<std::string> paths_;
};

}  // namespace galley
