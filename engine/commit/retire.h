#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/clock.h"
#include "engine/commit/audit_sink.h"
#include "engine/commit/state_directory.h"
#include "engine/commit/writer_lock.h"

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

}  // namespace galley
