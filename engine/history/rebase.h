#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include <galley/history.h>
#include "base/clock.h"
#include "base/rel_path.h"
#include "base/result.h"
#include "engine/commit/outcome.h"
#include "staging/fs/directory.h"
#include "staging/overlay/overlay.h"
#include "staging/overlay/proposal.h"

namespace galley {

using MergeMode = UndoOptions::Merge;

/// One path on which a change does not fit: expected is what the change starts from, hunks are those
/// of `conflict.lines`.
struct PathConflict : Conflict::Path {
  std::string reason;  ///< `conflict.changed`, `conflict.lines`, `conflict.exists`,
                       ///< `conflict.missing`, `conflict.not_empty`, `conflict.parent`,
                       ///< `conflict.mode`, `conflict.binary`, `conflict.kind`
  Node wanted;         ///< what the change would put there
};

/// One path that was not as expected and fits all the same.
struct MergedPath {
  RelPath path = RelPath::root();
  std::string how;       ///< one phrase: `merged by lines`, `already so`, `kept: not empty` …
  uint32_t markers = 0;  ///< conflict markers written (kMarkers)
};

/// A change that fits the workspace as it is now.
struct Rebased {
  Proposal proposal;  ///< bases are what the workspace holds; goes through gate and publisher
  std::vector<MergedPath> merged;
};

/// Nothing was made: where it does not fit.
struct RebaseConflict {
  std::vector<PathConflict> paths;
};

using RebaseOutcome = std::variant<Rebased, RebaseConflict>;

struct RebaseOptions {
  MergeMode mode = MergeMode::kLines;
  std::string found_label = "workspace";  ///< after <<<<<<< in markers
  std::string base_label = "base";
  std::string wanted_label = "proposal";
  /// Where files that the change names are now, when they were moved since.
  std::map<RelPath, RelPath> moved;
};

/// Makes of a change (from what it was made on to what it wants) the same change of the workspace
/// as it is now: three-way, path by path and then by lines. For a commit that met a Conflict, and
/// the heart of undo.
///
///     now == before -> after       now == after -> nothing to do       else three-way merge
///
/// Invariant: nothing is written. What the workspace holds and the change does not know of is never
///            dropped: a directory that has something else in it stays.
/// Errors:    a misfit is a RebaseConflict; an Error means that something could not be read.
Result<RebaseOutcome> rebase(const Proposal& change, const Directory& workspace, const Clock& clock,
                             const RebaseOptions& options = {});

/// The same for what is staged: of the tree as `staged` proposes it. Nothing of it is changed; what
/// it holds is shared.
Result<RebaseOutcome> rebase(const Proposal& change, Overlay& staged,
                             const RebaseOptions& options = {});

/// Puts a proposal into an overlay that has nothing staged: its entries and every content. What
/// freezing the overlay then gives has the proposal's id.
Result<void> stage_proposal(const Proposal& proposal, Overlay& overlay);

/// The three sides of one file: what both started from, what the workspace has, what is wanted.
struct FileSides {
  Node base;
  Node found;
  Node wanted;
  Content base_bytes;  ///< these three only where both sides changed the content
  Content found_bytes;
  Content wanted_bytes;
};

/// What merging the sides of one file gave: a node and its bytes, or a reason why not.
struct FileMerge {
  std::string reason;  ///< empty when it fits; else as PathConflict::reason
  std::string message;
  std::vector<ConflictHunk> hunks;
  Node node;
  std::string bytes;
  uint32_t markers = 0;
};

/// Merges content by lines and the mode as one value.
[[nodiscard]] FileMerge merge_file(const FileSides& sides, const RebaseOptions& options);

}  // namespace galley
