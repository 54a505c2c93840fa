#pragma once

#include <memory>
#include <vector>

#include "base/result.h"
#include "engine/check/work_tree_ends.h"
#include "engine/policy/finding.h"
#include "staging/git/git_blob_store.h"
#include "staging/git/git_program.h"
#include "staging/git/git_tree.h"
#include "staging/overlay/change_set.h"

namespace galley {

/// A git diff as a change set.
struct GitChanges {
  ChangeSet changes;
  /// Paths that a change set cannot contain: they cannot be judged, so they are refused.
  std::vector<Finding> findings;
};

/// The two sides of a diff.
struct GitSides {
  const GitTree& base;
  GitBlobStore& store;  ///< gets the contents of both sides
  /// Has the contents without an id in the diff; null: every content has one.
  std::shared_ptr<const Directory> work_tree;
  std::shared_ptr<const WorkTreeLineEndings> ends;  ///< how git would store the files in it
};

/// kQuota `limit.changes`: a change has more paths than limits::kMaxChanges.
[[nodiscard]] Error too_many_changes();

/// Makes a change set of a raw diff against `base`, including created and removed directories.
/// Contents are hashed in parallel and not kept in memory. A submodule is a directory whose content
/// is its line in git's diff.
/// Errors: kRefused `git.object_missing`, `check.unmerged`; kQuota `limit.changes`,
///         `limit.file_size`; those of GitObjects, with the path.
Result<GitChanges> change_set_of(const std::vector<GitRawChange>& diff, const GitSides& sides);

}  // namespace galley
