#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "staging/fs/directory.h"
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
  /// the owner of `workspace_root`.
  static Result<RetentionSet> take(const std::string& home, const Command& command,
                                   const FileStat& workspace_root, const Clock& clock);

  /// Absolute paths of the directories on the host, in the order of `command.keep`.
  [[nodiscard]] const std::vector<std::string>& paths() const { return paths_; }

 private:
  std::unique_ptr<WritableFile> lock_;
  std::vector<std::string> paths_;
};

}  // namespace galley
