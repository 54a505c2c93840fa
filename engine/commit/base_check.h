#pragma once

#include <vector>

#include "engine/commit/outcome.h"
#include "engine/commit/plan.h"
#include "engine/commit/workspace_view.h"

namespace galley {

/// The stats of the workspace's objects under the lock, one for each operation.
struct CheckedBases {
  std::vector<FileStat> stats;          ///< by index of Plan::ops
  std::vector<ConflictPath> conflicts;  ///< empty when the proposal's bases are still valid
};

/// Compares every path with its base: by stat signature if that is reliable, else by content. A
/// touch, or writing the same bytes again, is not a conflict.
///
/// Fills owner and attributes of the `before` sides of `plan`.
/// Errors: kRefused `commit.crosses_mount`; kIo.
Result<CheckedBases> check_bases(const ChangeSet& changes, Plan& plan, WorkspaceView& view);

/// For a change that another program made already: compares every path with its new state, and
/// fills owner and attributes of both sides of `plan`. Those of the old side are not known; they
/// are taken from the new object, or from the directory of a deleted one.
/// Errors: as check_bases().
Result<std::vector<ConflictPath>> check_made(const ChangeSet& changes, Plan& plan,
                                             WorkspaceView& view);

/// Compares the paths that the transaction read with their present state, in the same way. Paths
/// that it also changes are left to check_bases. Stops at kMaxReadConflicts.
/// Errors: kIo.
Result<std::vector<ConflictPath>> check_reads(const std::vector<Read>& reads, WorkspaceView& view);
inline constexpr size_t kMaxReadConflicts = 100;  ///< conflicts that a refusal lists

/// Makes the conflict of one path, with its message.
ConflictPath make_conflict(const RelPath& path, const Node& expected, const Node& found);
/// Makes the conflict of a directory that has other entries than when it was read.
ConflictPath make_listing_conflict(const Read& read);
/// The message for a path below a directory that was replaced by a link. The link is not followed.
[[nodiscard]] std::string linked_parent_message(const RelPath& path);

}  // namespace galley
