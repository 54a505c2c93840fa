#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "engine/commit/publisher.h"
#include "engine/commit/state_directory.h"
#include "engine/commit/writer_lock.h"
#include "staging/fs/directory.h"

namespace galley {

/// The minimum time for which a caught inode is kept, so that a late write to it is noticed.
inline constexpr std::chrono::seconds kLateWriterWindow{10};
inline constexpr size_t kMaxPendingJournals = 64;  ///< journals that wait to be retired
inline constexpr uint64_t kMaxPendingBytes = uint64_t{16} << 20U;  ///< bytes of these journals and
                                                                   ///< of their slots
/// Up to this many files and directories are flushed one by one; more are flushed by one syncfs,
/// which also waits for writes of other programs.
inline constexpr size_t kMaxSyncTargets = 8;

struct RetireOptions {
  std::string session;         ///< the present one, see StateDirectory::session
  AuditSink* audit = nullptr;  ///< gets the records of retired journals; without it they are
                               ///< dropped
};

/// Moves finished journals from `j/` to `undo/`. First it gives their audit records to the sink; if
/// that fails, the journals stay. Then it makes the tree that they describe durable, and checks the
/// caught inodes again: late writes in them go to rescue/. Finally it renames the journals. Returns
/// a note for each rescued object. If a flush fails, the journals stay and are marked. The next
/// recovery writes the contents again, since a second flush of the same files would falsely
/// succeed. Until then the marked journals are skipped.
Result<std::vector<JournalNote>> retire(const WritableDirectory& workspace,
                                        const StateDirectory& state, WriterLock& lock,
                                        const std::vector<TxId>& ids, const RetireOptions& options);

/// The size of the objects in the slots of these transactions.
Result<uint64_t> slot_bytes(const StateDirectory& state, const std::vector<TxId>& ids);

/// The journals older than kLateWriterWindow, or all of them when too many are pending.
Result<std::vector<TxId>> due_journals(const StateDirectory& state, const Clock& clock);

/// Retires due_journals().
Result<std::vector<JournalNote>> retire_due(const WritableDirectory& workspace,
                                            const StateDirectory& state, WriterLock& lock,
                                            const Clock& clock, const RetireOptions& options);

/// The id of the newest transaction, 0 when there is none.
Result<TxId> last_transaction(const StateDirectory& state, const WriterLock& lock,
                              const std::string& session);

/// The folder `.galley/runs/graveyard/` for empty directories that were removed from the workspace
/// while runs were live. A view reads its directories from the workspace as long as the run lasts.
/// A removed directory cannot be read, so the view would show an empty one.
///
/// The folder exists while runs may be live. The start of a run creates it. A process that finds no
/// live run deletes it. Both hold the writer lock.
///
/// Threads: confined to the holder of the writer lock.
class RemovedDirectories {
 public:
  RemovedDirectories() = default;  ///< no folder: remove() is rmdir
  /// Creates the folder, or opens the existing one.
  static Result<RemovedDirectories> open_or_create(const StateDirectory& state,
                                                   const WriterLock& lock);
  /// Opens the existing folder, else returns an empty RemovedDirectories.
  static Result<RemovedDirectories> find(const StateDirectory& state);
  /// Deletes the folder with its contents; succeeds if it does not exist.
  static Result<void> clear(const StateDirectory& state, const WriterLock& lock);

  [[nodiscard]] bool is_there() const { return place_ != nullptr; }
  /// Removes an empty directory by moving it to the folder when there is one.
  /// Errors: as WritableDirectory::remove_directory; ENOTEMPTY when the directory is not empty.
  Result<void> remove(const WritableDirectory& from, const RelPath& name) const;

 private:
  explicit RemovedDirectories(std::shared_ptr<const WritableDirectory> place)
      : place_(std::move(place)) {}

  std::shared_ptr<const WritableDirectory> place_;
};

}  // namespace galley
