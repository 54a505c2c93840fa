#pragma once

#include <galley/path.h>

#include "base/content_id.h"
#include "base/result.h"
#include "engine/commit/state_directory.h"
#include "engine/stages/run_folder.h"
#include "staging/overlay/overlay.h"

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

}  // namespace galley
