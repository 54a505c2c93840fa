#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "staging/fs/directory.h"
#include "staging/sandbox/command_runner.h"

namespace galley {

/// Refuses (`sandbox.keep_link`) directories that are links in the proposed tree, or lie behind
/// one: a kept directory is made where it is missing, which would then be outside.
[[nodiscard]] Result<void> refuse_links_to_keep(const std::vector<RelPath>& paths,
                                                Overlay& overlay);

/// The directories that persist between the runs of one validator, held alone for one run.
///
/// Ownership: owns a lock, which dies with the process.
/// Errors:    kTimeout `sandbox.keep_busy` when another run holds them for the whole of the
///            command's wall time, kTimeout `sandbox.cancelled` when the command is stopped first.
class KeptSet {
 public:
  /// Makes the directories of `command.keep` below `home` where they are missing; they belong to
  /// the owner of `workspace_root`.
  static Result<KeptSet> take(const std::string& home, const Command& command,
                              const FileStat& workspace_root, const Clock& clock);

  /// Absolute paths outside, in the order of `command.keep`.
  [[nodiscard]] const std::vector<std::string>& paths() const { return paths_; }

 private:
  std::unique_ptr<WritableFile> lock_;
  std::vector<std::string> paths_;
};

}  // namespace galley
