#pragma once

namespace galley {

/// Deliberate mistakes for testing the tests, one at a time: `cmake -DGALLEY_MUTANT=n` builds one
/// in, and scripts/mutants shows that its test fails. Without it every condition is false at
/// compile time.
enum class Mutant {
  kNone = 0,
  kRmdirAfterPut = 1,         ///< recovery removes directories after it puts files
  kUndecidedIsFailure = 2,    ///< a failed rollback is reported as a plain failure
  kRollbackDeletesTree = 3,   ///< rollback deletes a directory of ours with the files that others
                              ///< put there
  kSweepWithoutLook = 4,      ///< caught inodes are removed without a second look
  kNoSyncBeforeRecovery = 5,  ///< recovery acts on a journal that is in the page cache only
  kRedoFinished = 6,          ///< the next open redoes a finished commit
  kJournalNotSynced = 7,      ///< no fdatasync of the journal
  kJournalNameNotSynced = 8,  ///< no fsync of j/
  kNoLookAfterSwap = 9,       ///< the object that a swap caught is not compared
  kApplyBeforeCommit = 10,    ///< the tree changes before the journal is synced
  kSlotNotSynced = 11,        ///< recovery renames an unsynced file into place
  kForgetBeforeSync = 12,     ///< an aborted journal is removed before the old tree is on disk
  kRetireBeforeSync = 13,     ///< a journal leaves j/ before the new tree is on disk
  kIgnoreTimestamps = 14,     ///< an object newer than the journal is taken for a torn image
  kAbortGoesForward = 15,     ///< recovery ignores ABORT
  kRotIsTorn = 16,            ///< the reader drops a journal that was committed and damaged later
  kRetireUnsyncedFiles = 17,  ///< a journal leaves j/ before its few files are on the disk
  kRetireUnsyncedNames = 18,  ///< a journal leaves j/ before their directories are on the disk
  kNoUnflushedMark = 19,      ///< a failed flush of the tree leaves no mark
  kUnflushedIsWritten = 20,  ///< correct contents in an unfinished marked journal are not rewritten
  kRetireUnrecorded = 21,    ///< a journal leaves j/ before its audit records are in the log
  kForgetMount = 22,         ///< a file system that was mounted again counts as never lost
  kRetireBeforeNote = 23,    ///< a journal leaves j/ while the note names an older one
};

[[nodiscard]] constexpr bool is_mutant([[maybe_unused]] Mutant mutant) {
#ifdef GALLEY_MUTANT
  return static_cast<int>(mutant) == GALLEY_MUTANT;
#else
  return false;
#endif
}

}  // namespace galley
