#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "engine/commit/publisher.h"
#include "engine/commit/state_directory.h"
#include "engine/commit/writer_lock.h"

namespace galley {

/// What recovery did, or would do, to one path or journal.
struct RecoveryAction {
  enum class Kind : uint8_t {
    kDropJournal,     ///< torn: it never happened
    kDamagedJournal,  ///< left where it is; `galley doctor --repair` puts it into quarantine
    kPut,             ///< the path gets the content of one side
    kRemove,
    kMakeDirectory,
    kRemoveDirectory,
    kSetMode,
    kKeepForeign,    ///< not one of our images: left alone
    kRescue,         ///< in the way and not ours: moved to rescue/
    kFinishJournal,  ///< everything it says is so now
    kSweepSlots,
  };
  Kind kind = Kind::kPut;
  TxId transaction;
  std::string path;
  std::string text;  ///< one sentence
  /// Of kFinishJournal: nobody had seen it complete. Else it is looked at again after a restart.
  bool is_interrupted = false;
};

struct RecoveryReport {
  std::vector<RecoveryAction> actions;
  [[nodiscard]] bool is_clean() const { return actions.empty(); }
};

struct RecoveryOptions {
  bool dry_run = false;
  std::string boot_id;         ///< of now
  AuditSink* audit = nullptr;  ///< gets the records of what is completed
};

/// Brings the workspace to the old or the new tree of every unfinished transaction: forward after
/// the commit point, backward after an ABORT record. It derives everything from contents, so
/// running it twice, or dying in it, is harmless.
///
/// What it does not recognise it leaves alone, or moves to rescue/ when it is in the way.
/// Errors: kIo `journal.damaged`: a journal was committed and cannot be believed; nothing was
///         touched. kRefused `journal.forbidden`: one says what no commit may do
///         (journal_rules.h). Any other Error: run it again when the cause is gone.
Result<RecoveryReport> recover(const WritableDirectory& workspace, const StateDirectory& state,
                               WriterLock& lock, const RecoveryOptions& options);

/// What every open does: nothing when nothing is unfinished, else takes the lock and recovers. Does
/// not wait for a live writer.
Result<RecoveryReport> recover_if_needed(const WritableDirectory& workspace,
                                         const StateDirectory& state, const Clock& clock,
                                         const RecoveryOptions& options);

}  // namespace galley
