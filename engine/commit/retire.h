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

/// How long a caught inode is kept at least, so that a program still writing to it is noticed.
inline constexpr std::chrono::seconds kLateWriterWindow{10};
inline constexpr size_t kMaxPendingJournals = 64;
inline constexpr uint64_t kMaxPendingBytes = uint64_t{16} << 20U;
/// Files and directories that are flushed one by one; more are flushed by one syncfs, which also
/// waits for what other programs wrote.
inline constexpr size_t kMaxSyncTargets = 8;

struct RetireOptions {
  std::string session;         ///< of now, StateDirectory::session
  AuditSink* audit = nullptr;  ///< gets the records of what retires; they are dropped without one
};

/// Moves finished journals from `j/` to `undo/`: gives their audit records to the sink (when that
/// fails they stay), makes the tree they describe durable, takes a second look at the caught inodes
/// (what a late writer left in them goes to rescue/), then the renames. Returns what was rescued.
/// When a flush fails the journals stay and say so: the next recovery writes the contents anew,
/// since a second flush of the same files would succeed falsely. Until then they are passed over.
Result<std::vector<JournalNote>> retire(const WritableDirectory& workspace,
                                        const StateDirectory& state, WriterLock& lock,
                                        const std::vector<TxId>& ids, const RetireOptions& options);

/// Retires what is older than kLateWriterWindow, or everything when too much is pending.
Result<std::vector<JournalNote>> retire_due(const WritableDirectory& workspace,
                                            const StateDirectory& state, WriterLock& lock,
                                            const Clock& clock, const RetireOptions& options);

/// The id of the newest transaction, 0 when there is none.
Result<TxId> last_transaction(const StateDirectory& state, const WriterLock& lock,
                              const std::string& session);

/// `.galley/runs/graveyard/`: empty directories that were removed from the workspace while runs
/// were live. A view that shows such a directory reads it as long as the run lasts, and a directory
/// that was removed cannot be read: the view would show an empty one.
///
/// It is there while runs may be live: the start of a run makes it, and whoever finds that none is
/// left takes it away, both under the writer lock.
///
/// Threads: confined to the holder of the writer lock.
class Graveyard {
 public:
  Graveyard() = default;  ///< none: remove() is rmdir
  /// Makes it, or takes the one that is there.
  static Result<Graveyard> need(const StateDirectory& state, const WriterLock& lock);
  /// Opens the one that is there, else returns none.
  static Result<Graveyard> find(const StateDirectory& state);
  /// Takes it away with all it holds; fine when it is not there.
  static Result<void> clear(const StateDirectory& state, const WriterLock& lock);

  [[nodiscard]] bool is_there() const { return place_ != nullptr; }
  /// Removes an empty directory: to the graveyard when there is one.
  /// Errors: as WritableDirectory::remove_directory; ENOTEMPTY when something is in it.
  Result<void> remove(const WritableDirectory& from, const RelPath& name) const;

 private:
  explicit Graveyard(std::shared_ptr<const WritableDirectory> place) : place_(std::move(place)) {}

  std::shared_ptr<const WritableDirectory> place_;
};

}  // namespace galley
