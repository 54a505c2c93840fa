#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <galley/path.h>
#include "base/content_id.h"
#include "base/result.h"
#include "engine/commit/state_directory.h"
#include "engine/stages/run_folder.h"
#include "staging/fs/directory.h"
#include "staging/overlay/overlay.h"

// What the runs of a stored transaction wrote over folders of the host (`galley run --layer`). It
// lies in the stage, so it goes with the transaction and every run of it finds it again:
//
//     layers/<n>/path    the folder of the host, absolute
//     layers/<n>/upper   what was written over it, as overlayfs keeps it
//     layers/<n>/work    overlayfs' own
//     layers/<n>/below   an empty folder, where the host had none

namespace galley {

// What a run's upper layer is compared with, path by path: what was staged when the run began, and
// what it had written by its last checkpoint. A path that is not among them has its base in the
// history or on disk.
//
//     basis        Overlay::Entries (staging/overlay/overlay_file.h), replaced whole by rename
//     checkpoint   the basis that holds once a transaction is committed:
//                  "galley checkpoint 1 <transaction> <proposal>", then the entries
//
// A checkpoint is written under the writer lock before its transaction is, and taken as the basis
// by whoever finds that transaction in the history: killed in between, nothing is taken for a
// change of somebody else.

/// Writes what is staged when a run begins; paths that were only read are left out.
Result<void> write_basis(const RunFolder& folder, const Overlay::Entries& staged);

/// Makes these entries the basis, whatever they say.
Result<void> replace_basis(const RunFolder& folder, const Overlay::Entries& entries);

/// Returns the basis that holds now, and makes an end of a checkpoint that is left over.
/// Errors: kInvalid `run.damaged`.
Result<Overlay::Entries> settled_basis(const RunFolder& folder, const StateDirectory& state);

/// Notes that `captured`, what the run has written so far, is about to be committed. Its changes
/// are the basis from then on.
Result<void> note_checkpoint(const RunFolder& folder, TxId transaction, const ContentId& proposal,
                             const Overlay::Entries& captured);

struct RunLayer {
  std::string path;
  std::string home;  ///< below the stage: "layers/<n>"
  /// The host had no such folder when the layer was made: below it is "<home>/below", which is
  /// empty.
  bool is_over_nothing = false;
};

/// The layers of a stage, in the order in which they were made.
[[nodiscard]] Result<std::vector<RunLayer>> run_layers(const Directory& stage);

/// Those, after making the ones that are missing for `paths`.
[[nodiscard]] Result<std::vector<RunLayer>> need_run_layers(const WritableDirectory& stage,
                                                            const std::vector<std::string>& paths);

/// Removes all layers of a stage, those of its scratch home too (scratch_home.h).
[[nodiscard]] Result<void> drop_layers(const WritableDirectory& stage);

/// A layer of an open transaction in which something was written.
struct WrittenLayer {
  std::string path;   ///< of the host
  std::string place;  ///< where it lies, below `.galley`
  uint64_t written = 0;
};

/// Those of a transaction. Files, links and deletions count, and folders that the host has not.
[[nodiscard]] Result<std::vector<WrittenLayer>> written_layers(const StateDirectory& state,
                                                               const std::string& tx);

}  // namespace galley
