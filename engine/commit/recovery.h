#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "engine/commit/publisher.h"
#include "engine/commit/state_directory.h"
#include "engine/commit/writer_lock.h"

namespace galley {

/// An action that recovery took, or would take, on one path or journal.
struct RecoveryAction {
  enum class Kind : uint8_t {
    kDropJournal,     ///< it is torn: the commit never happened
    kDamagedJournal,  ///< it stays where it is; `galley doctor --repair` moves it to quarantine
    kPut,             ///< the path gets the content of one side
    kRemove,
    kMakeDirectory,
    kRemoveDirectory,
    kSetMode,
    kKeepForeign,    ///< the object is not one of our images and stays
    kRescue,         ///< a foreign object is in the way: moved to rescue/
    kFinishJournal,  ///< the tree is now as the journal says
    kSweepSlots,
  };
  Kind kind = Kind::kPut;
  TxId transaction;
  std::string path;
  std::string text;  ///< one sentence
  /// For kFinishJournal: no process had recorded that the journal was complete. If false, it was
  /// complete and is only checked again after a restart.
  bool is_interrupted = false;
};

struct RecoveryReport {
  std::vector<RecoveryAction> actions;
  [[nodiscard]] bool is_clean() const { return actions.empty(); }
};

struct RecoveryOptions {
  bool dry_run = false;
  std::string boot_id;         ///< the present boot id
  AuditSink* audit = nullptr;  ///< gets the records of completed transactions
};

/// Brings the workspace to the old or the new tree of every unfinished transaction: forward after
/// the commit point, backward after an ABORT record. It derives everything from contents, so it may
/// be run twice, or killed at any time.
///
/// It leaves unknown objects alone, or moves them to rescue/ when they are in the way.
/// Errors: kIo `journal.damaged`: a journal was committed and is unreadable now; nothing was
///         touched. kRefused `journal.forbidden`: a journal contains a change that no commit may
///         make (journal_rules.h). After any other Error run it again when the cause is gone.
Result<RecoveryReport> recover(const WritableDirectory& workspace, const StateDirectory& state,
                               WriterLock& lock, const RecoveryOptions& options);

/// Called by every open: does nothing when nothing is unfinished, else takes the lock and recovers.
/// Does not wait for a live writer.
Result<RecoveryReport> recover_if_needed(const WritableDirectory& workspace,
                                         const StateDirectory& state, const Clock& clock,
                                         const RecoveryOptions& options);

}  // namespace galley
