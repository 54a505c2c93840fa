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

/// Compares every path with the base it was proposed on: by stat signature when that is reliable,
/// else by content. A touch, or the same bytes written again, is not a conflict.
///
/// Fills owner and attributes of the `before` sides of `plan`.
/// Errors: kRefused `commit.crosses_mount`; kIo.
Result<CheckedBases> check_bases(const ChangeSet& changes, Plan& plan, WorkspaceView& view);

/// Whether the stat proves that the object is unchanged since the base was recorded.
[[nodiscard]] bool is_signature_of(const BaseStamp& base, uint64_t size, const FileStat& stat);

/// Compares the paths that the transaction read with their present state, in the same way.
/// check_bases compares the paths that it also changes. Stops at kMaxReadConflicts.
/// Errors: kIo.
Result<std::vector<ConflictPath>> check_reads(const std::vector<Read>& reads, WorkspaceView& view);
inline constexpr size_t kMaxReadConflicts = 100;  ///< conflicts that a refusal lists

/// The conflict of one path, in words.
ConflictPath make_conflict(const RelPath& path, const Node& expected, const Node& found);
/// The message for a path one of whose parents has become a link: the link is not followed.
[[nodiscard]] std::string linked_parent_message(const RelPath& path);

}  // namespace galley
