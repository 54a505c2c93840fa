#pragma once

#include <memory>
#include <string>

#include "base/clock.h"
#include "base/ignore_rules.h"
#include "base/rel_path.h"
#include "base/result.h"
#include "staging/fs/directory.h"

namespace galley {

/// What git ignores in a workspace: the .gitignore files of its work tree, `info/exclude`, and
/// core.excludesFile. Read without libgit2, whose matching has no bound and which opens a FIFO.
///
/// Only a `.git`, a configuration and an excludes file that belong to this user, to root or to the
/// workspace's owner count; each must be a regular file of a bounded size. Included configurations
/// are not followed. So it is with the index.
///
/// Ownership: owns the directory of the work tree. Threads: confined to one thread.
class IgnoreFiles {
 public:
  /// The rules around `workspace` (absolute, links resolved); nothing is ignored where no work tree
  /// of git holds it.
  static Result<IgnoreFiles> open(const std::string& workspace);

  /// What git makes of a path of the workspace; what its index names is never ignored.
  /// Errors: kTimeout `ignore.stopped` when the deadline passes.
  Result<IgnoreAnswer> answer(const RelPath& path, bool is_directory, const Deadline& deadline,
                              const Clock& clock);

  /// Of a larger index nothing is known to be tracked: some two million paths.
  static constexpr uint64_t kMaxIndexBytes = uint64_t{256} << 20U;

 private:
  IgnoreFiles() = default;

  std::shared_ptr<const Directory> work_tree_;  ///< null: not in one
  RelPath prefix_ = RelPath::root();            ///< of the workspace within it
  std::unique_ptr<IgnoreRules> rules_;
};

/// The value of core.excludesFile in the text of a git configuration, as written; empty: none.
[[nodiscard]] std::string excludes_file_in(std::string_view git_config);

}  // namespace galley
