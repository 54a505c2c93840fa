#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <galley/path.h>
#include "base/hash.h"
#include "base/result.h"
#include "engine/commit/state_directory.h"
#include "engine/stages/run_folder.h"
#include "staging/fs/directory.h"
#include "staging/overlay/overlay.h"

// The files that the runs of a stored transaction wrote over folders of the host
// (`galley run --layer`). They are in the stage, so they last as long as the transaction, and all
// its runs see them:
//
//     layers/<n>/path    the folder of the host, absolute
//     layers/<n>/upper   the files written over it, in the format of overlayfs
//     layers/<n>/work    for overlayfs itself
//     layers/<n>/below   an empty folder, if the host did not have the folder

namespace galley {

// Galley compares the upper layer of a run, path by path, with its basis: the staged state at the
// start of the run, and the files that the run had written at its last checkpoint. The base of any
// other path is in the history or on disk.
//
//     basis        Overlay::Entries (staging/overlay/overlay_file.h), replaced whole by rename
//     checkpoint   the next basis, valid after a transaction is committed:
//                  "galley checkpoint 1 <transaction> <proposal>", then the entries
//     unchanged    an empty file, modified before the last capture without changes; `look` until
//                  the capture is complete
//
// A checkpoint is written under the writer lock before its transaction. A process that finds this
// transaction in the history replaces the basis by the checkpoint. So the run's own changes are not
// taken for changes of other programs, even if the process is killed in between.

/// Writes the staged state at the start of a run, without paths that were only read.
Result<void> write_basis(const RunFolder& folder, const Overlay::Entries& staged);

/// Replaces the basis by exactly these entries.
Result<void> replace_basis(const RunFolder& folder, const Overlay::Entries& entries);

/// Returns the present basis. First applies or drops a leftover checkpoint.
/// Errors: kInvalid `run.damaged`.
Result<Overlay::Entries> settled_basis(const RunFolder& folder, const StateDirectory& state);

/// Sets the base of one path of a live run: `seen`, whose content is in the store of the stage. The
/// caller holds the writer lock.
Result<void> set_base(const RunFolder& folder, const StateDirectory& state, const RelPath& path,
                      const Node& seen);

/// Sets the bases of several paths of a live run. The contents of the entries are in the store of
/// the stage. The entry of a directory that was made in the view has its inode and birth in the
/// upper layer as the stamp (`mtime_ns` is the birth). The caller holds the writer lock.
Result<void> set_bases(const RunFolder& folder, const StateDirectory& state,
                       const Overlay::Entries& bases);

/// Notes that `captured`, all changes of the run so far, is about to be committed. It becomes the
/// basis after the commit.
Result<void> note_checkpoint(const RunFolder& folder, TxId transaction, const ContentId& proposal,
                             const Overlay::Entries& captured);

/// Notes the time before a capture of a live run. The caller holds the writer lock.
Result<void> begin_look(const RunFolder& folder);

/// The capture since begin_look() found no change.
Result<void> end_unchanged_look(const RunFolder& folder);

/// Returns the time before the last capture without changes, on the clock of the file system; 0 if
/// there was none.
Result<int64_t> unchanged_ns(const RunFolder& folder);

/// Returns the time until which the run has seen every file that came to its place in the
/// workspace, on the clock of the file system; 0: when it was mounted (LiveRun::refresh).
Result<int64_t> refreshed_ns(const RunFolder& folder);

/// A layer over a folder of the host.
struct RunLayer {
  std::string path;  ///< of the host's folder
  std::string home;  ///< below the stage: "layers/<n>"
  /// The host did not have this folder when the layer was made. The lower layer is then the empty
  /// folder "<home>/below".
  bool is_over_nothing = false;
};

/// Returns the layers of a stage, in the order of their creation.
[[nodiscard]] Result<std::vector<RunLayer>> run_layers(const Directory& stage);

/// Creates the missing layers for `paths`. Returns all layers of the stage.
[[nodiscard]] Result<std::vector<RunLayer>> ensure_run_layers(
    const WritableDirectory& stage, const std::vector<std::string>& paths);

/// Removes all layers of a stage, including those of its scratch home (stored_stage.h).
[[nodiscard]] Result<void> drop_layers(const WritableDirectory& stage);

/// A layer of an open transaction with at least one written file.
struct WrittenLayer {
  std::string path;      ///< of the host's folder
  std::string place;     ///< its place below `.galley`
  uint64_t written = 0;  ///< number of written paths
};

/// Returns the written layers of a transaction. Counts files, links, deletions, and folders that
/// the host does not have.
[[nodiscard]] Result<std::vector<WrittenLayer>> written_layers(const StateDirectory& state,
                                                               const std::string& tx);

}  // namespace galley
