#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "engine/commit/state_directory.h"

namespace galley {

/// The right to write: one process holds it at a time, and functions take it as an argument as
/// proof.
///
/// It is a flock on `.galley/lock`. The kernel drops it whenever the process ends, so a stale
/// holder cannot exist. Waiters queue by tickets in `wait/`, each held by its own flock. The first
/// waiter gets the lock first, and dead waiters are skipped.
///
/// Ownership: owns the open lock file; its destructor releases the lock.
/// Threads:   one holder at a time, in this process too (a flock belongs to the open file).
class WriterLock {
 public:
  /// Waits in the queue for at most `timeout`; zero tries once.
  /// Errors: kTimeout `commit.locked`, naming the holder.
  static Result<WriterLock> take(const StateDirectory& state, const Clock& clock,
                                 std::chrono::milliseconds timeout);

  /// The id of the last transaction, if the previous holder noted it in this session. It saves
  /// listing the history.
  [[nodiscard]] std::optional<TxId> last_transaction(const std::string& session) const;
  /// Notes the id for the next holder. If that fails, or the process dies before, the next holder
  /// finds the journal in `j/`.
  void remember(TxId last, const std::string& session);
  /// Deletes the note, so the next holder reads every journal again.
  Result<void> forget_last();
  /// Deletes the note if it names an older transaction. Each journal that goes into the history
  /// needs this first: the next holder would not look there and would give its id again.
  Result<void> forget_if_before(TxId id);

 private:
  explicit WriterLock(std::unique_ptr<WritableFile> file) : file_(std::move(file)) {}
  static Result<std::optional<WriterLock>> try_take(const StateDirectory& state,
                                                    const Clock& clock);
  Result<void> write_text();

  std::unique_ptr<WritableFile> file_;
  std::string holder_;
  std::string last_;
  bool is_written_ = true;  ///< false when the file may have an older note than `last_`
};

/// The last transaction that a holder of the lock noted, in any session: it and all older ones are
/// over, so their numbers are not given again (except after a quarantine). 0 without a note. Does
/// not take the lock.
[[nodiscard]] TxId noted_transaction(const StateDirectory& state);

}  // namespace galley
