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
#include "staging/overlay/change_set.h"
#include "staging/overlay/overlay.h"

namespace galley {

using MergeMode = UndoOptions::Merge;

/// One path on which a change does not fit. `expected` is the node from which the change starts;
/// `hunks` are set for `conflict.lines`.
struct PathConflict : Conflict::Path {
  std::string reason;  ///< `conflict.changed`, `conflict.lines`, `conflict.exists`,
                       ///< `conflict.missing`, `conflict.not_empty`, `conflict.parent`,
                       ///< `conflict.mode`, `conflict.owner`, `conflict.binary`, `conflict.kind`
  Node wanted;         ///< the node that the change would put there

  /// Names the three sides: it changes when one of them does.
  [[nodiscard]] std::string version() const;
};

/// One path that was not as expected although the change fits.
struct MergedPath {
  RelPath path = RelPath::root();  ///< where the result is: for a rename, the new name
  std::string how;                 ///< one phrase: `merged by lines`, `already so`, `resolved` …
  uint32_t markers = 0;            ///< conflict markers written (kMarkers)
};

/// A change that fits the present workspace.
struct Rebased {
  Proposal proposal;  ///< its bases are the present nodes; the gate judges it like any other
  std::vector<MergedPath> merged;
};

/// The places where a change does not fit; nothing was made.
struct RebaseConflict {
  std::vector<PathConflict> paths;
};

using RebaseOutcome = std::variant<Rebased, RebaseConflict>;

/// The decision about the conflict of one path: a choice for each of its hunks, or one for the
/// whole path.
struct Resolution {
  enum class Side : uint8_t { kFound, kWanted, kBase, kText };
  struct Choice {
    Side side = Side::kFound;
    std::string text;  ///< kText: the new lines, or the new content of the file, in UTF-8; they get
                       ///< the encoding of the file on disk, and lines its line ends
  };
  std::vector<Choice> choices;  ///< in the order of PathConflict::hunks
  bool is_whole = false;        ///< one choice for the whole path; kText is the whole file
  std::string version;          ///< of the conflict that was looked at: PathConflict::version()
};

struct RebaseOptions {
  MergeMode mode = MergeMode::kLines;
  std::string found_label = "workspace";  ///< after the <<<<<<< of conflict markers
  std::string base_label = "base";
  std::string wanted_label = "proposal";
  /// The present paths of files that the change names and that were moved since.
  std::map<RelPath, RelPath> moved;
  /// Decisions about conflicts, by PathConflict::path. A decision that does not suit its conflict
  /// is an Error: kConflict `resolve.changed`; kUsage `resolve.choices`, `resolve.directory`;
  /// kRefused `resolve.encoding`, `patch.encoding`.
  std::map<RelPath, Resolution> resolutions;
};

/// Converts a change into the same change of the present workspace by a three-way merge, path by
/// path and then by lines. A change goes from its bases to the wanted nodes. Used after a Conflict
/// of a commit, and by undo.
///
///     now == before -> after       now == after -> nothing to do       else three-way merge
///
/// Invariant: nothing is written. Workspace contents that the change does not know are never
///            dropped: a directory that contains anything else stays.
/// Errors:    a change that does not fit is a RebaseConflict; an Error means that a read failed.
Result<RebaseOutcome> rebase(const Proposal& change, const Directory& workspace, const Clock& clock,
                             const RebaseOptions& options = {});

/// Does the same for the tree that `staged` proposes. It does not change `staged` and shares its
/// contents.
Result<RebaseOutcome> rebase(const Proposal& change, Overlay& staged,
                             const RebaseOptions& options = {});

/// A rebase of the changes that fit, and of no others.
struct PartialRebase {
  Rebased fits;
  std::vector<RelPath> left;            ///< paths of the changes that were left out
  std::vector<PathConflict> conflicts;  ///< why
};

/// Leaves out the changes that do not fit, and those that depend on them (the other end of a
/// rename, what is above or below), instead of making nothing.
Result<PartialRebase> rebase_what_fits(const Proposal& change, const Directory& workspace,
                                       const Clock& clock, const RebaseOptions& options = {});

/// Puts a rebased proposal onto what the overlay stages: its bases are the staged nodes.
Result<void> stage_rebased(const Proposal& rebased, Overlay& staged);

/// Puts a proposal into an overlay that has nothing staged: its entries and all contents. Freezing
/// the overlay then gives a proposal with the same id.
Result<void> stage_proposal(const Proposal& proposal, Overlay& overlay);

/// The three sides of one file: the common base, the workspace's node and the wanted node.
struct FileSides {
  Node base;
  Node found;
  Node wanted;
  Content base_bytes;  ///< set, like the next two, only if both sides changed the content
  Content found_bytes;
  Content wanted_bytes;
};

/// The result of merging the sides of one file: a node and its bytes, or the reason of a conflict.
struct FileMerge {
  std::string reason;  ///< empty when it fits; else as PathConflict::reason
  std::string message;
  std::vector<ConflictHunk> hunks;
  Node node;
  std::string bytes;
  uint32_t markers = 0;
  bool is_resolved = false;  ///< a resolution decided its conflict
};

/// Merges content by lines and the mode as one value. `resolution` decides conflicts if it is not
/// null; it has as many choices as a call without it has hunks, or is for the whole file.
[[nodiscard]] FileMerge merge_file(const FileSides& sides, const RebaseOptions& options,
                                   const Resolution* resolution = nullptr);

}  // namespace galley
