#pragma once

#include <vector>

#include "engine/commit/outcome.h"
#include "engine/commit/plan.h"
#include "engine/commit/workspace_view.h"

namespace galley {

/// What the workspace held under the lock, for one operation each.
struct CheckedBases {
  std::vector<FileStat> stats;          ///< by index of Plan::ops
  std::vector<ConflictPath> conflicts;  ///< empty when the proposal's bases still stand
};

/// Compares every path with the base it was proposed on: by stat signature when that can be
/// believed, else by content. A touch, or the same bytes written again, is no conflict.
///
/// Fills owner and attributes of the `before` sides of `plan`.
/// Errors: kRefused `commit.crosses_mount`; kIo.
Result<CheckedBases> check_bases(const ChangeSet& changes, Plan& plan, WorkspaceView& view);

/// Whether the stat says that this is still what was looked at, beyond doubt.
[[nodiscard]] bool is_signature_of(const BaseStamp& base, uint64_t size, const FileStat& stat);

/// Compares what the transaction read with what is there now, in the same way; what it changes too
/// is check_bases' concern. Stops at kMaxReadConflicts.
/// Errors: kIo.
Result<std::vector<ConflictPath>> check_reads(const std::vector<Read>& reads, WorkspaceView& view);
inline constexpr size_t kMaxReadConflicts = 100;

/// The conflict of one path, in words.
ConflictPath make_conflict(const RelPath& path, const Node& expected, const Node& found);
/// The words for a path above which a link came meanwhile: it is not looked through.
[[nodiscard]] std::string behind_link(const RelPath& path);

}  // namespace galley
