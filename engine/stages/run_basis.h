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

// The files that the runs of a stored transaction wrote over folders of the host (`galley run
// --layer`). They are in the stage, so they live as long as the transaction, and every run of it
// finds them:
//
//     layers/<n>/path    the folder of the host, absolute
//     layers/<n>/upper   the files written over it, as overlayfs keeps them
//     layers/<n>/work    overlayfs' own
//     layers/<n>/below   an empty folder, if the host had none

namespace galley {

// A run's upper layer is compared, path by path, with the staged state at the start of the run and
// the files that it had written at its last checkpoint. Any other path has its base in the history
// or on disk.
//
//     basis        Overlay::Entries (staging/overlay/overlay_file.h), replaced whole by rename
//     checkpoint   the basis that is valid after a transaction is committed:
//                  "galley checkpoint 1 <transaction> <proposal>", then the entries
//
// A checkpoint is written under the writer lock before its transaction. The process that finds this
// transaction in the history makes the checkpoint the basis. So if the process is killed in
// between, the run's own changes are not mistaken for changes of others.

/// Writes the staged state at the start of a run; paths that were only read are left out.
Result<void> write_basis(const RunFolder& folder, const Overlay::Entries& staged);

/// Replaces the basis by these entries, whatever they contain.
Result<void> replace_basis(const RunFolder& folder, const Overlay::Entries& entries);

/// Returns the present basis, after it settled a leftover checkpoint.
/// Errors: kInvalid `run.damaged`.
Result<Overlay::Entries> settled_basis(const RunFolder& folder, const StateDirectory& state);

/// Notes that `captured`, everything the run has written so far, is about to be committed. After
/// the commit it is the basis.
Result<void> note_checkpoint(const RunFolder& folder, TxId transaction, const ContentId& proposal,
                             const Overlay::Entries& captured);

struct RunLayer {
  std::string path;
  std::string home;  ///< below the stage: "layers/<n>"
  /// The host did not have this folder when the layer was made: below it is "<home>/below", which
  /// is empty.
  bool is_over_nothing = false;
};

/// The layers of a stage, in the order of their creation.
[[nodiscard]] Result<std::vector<RunLayer>> run_layers(const Directory& stage);

/// The same, after creating the missing layers for `paths`.
[[nodiscard]] Result<std::vector<RunLayer>> ensure_run_layers(
    const WritableDirectory& stage, const std::vector<std::string>& paths);

/// Removes all layers of a stage, including those of its scratch home (stored_stage.h).
[[nodiscard]] Result<void> drop_layers(const WritableDirectory& stage);

/// A layer of an open transaction in which something was written.
struct WrittenLayer {
  std::string path;   ///< of the host
  std::string place;  ///< its place below `.galley`
  uint64_t written = 0;
};

/// The written layers of a transaction. Files, links and deletions count, and folders that the host
/// does not have.
[[nodiscard]] Result<std::vector<WrittenLayer>> written_layers(const StateDirectory& state,
                                                               const std::string& tx);

}  // namespace galley
