#pragma once

#include <memory>
#include <string>

#include "base/clock.h"
#include "base/ignore_rules.h"
#include "base/rel_path.h"
#include "base/result.h"
#include "staging/fs/directory.h"

namespace galley {

/// The paths that git ignores in a workspace: from the .gitignore files of its work tree,
/// `info/exclude`, and core.excludesFile. Read without libgit2, whose matching is unbounded and
/// which opens FIFOs.
///
/// It uses a `.git`, a configuration, an excludes file and an index only if they belong to this
/// user, to root or to the workspace's owner. Each must be a regular file of a bounded size.
/// Included configurations are not followed.
///
/// Ownership: owns the directory of the work tree. Threads: confined to one thread.
class IgnoreFiles {
 public:
  /// The rules for `workspace` (absolute, links resolved). Outside a git work tree nothing is
  /// ignored.
  static Result<IgnoreFiles> open(const std::string& workspace);

  /// How git treats a path of the workspace; a path in the index is never ignored.
  /// Errors: kTimeout `ignore.stopped` when the deadline passes.
  Result<IgnoreAnswer> answer(const RelPath& path, bool is_directory, const Deadline& deadline,
                              const Clock& clock);

  /// A larger index is not read, and then no path counts as tracked. It is enough for about two
  /// million paths.
  static constexpr uint64_t kMaxIndexBytes = uint64_t{256} << 20U;

 private:
  IgnoreFiles() = default;

  std::shared_ptr<const Directory> work_tree_;  ///< null: not in a work tree
  RelPath prefix_ = RelPath::root();            ///< of the workspace within the work tree
  std::unique_ptr<IgnoreRules> rules_;
};

/// The value of core.excludesFile in the text of a git configuration, as written; empty: none.
[[nodiscard]] std::string excludes_file_in(std::string_view git_config);

}  // namespace galley
