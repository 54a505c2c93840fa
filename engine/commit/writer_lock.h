#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "engine/commit/state_directory.h"

namespace galley {

/// The right to write: held by one process at a time, and proof of it as an argument.
///
/// It is a flock on `.galley/lock`, which the kernel drops when the process dies, however it dies;
/// a stale holder cannot exist. Waiters queue by tickets in `wait/`, each held by a flock of its
/// own, so the first to come is the first to get it and a dead waiter is passed over.
///
/// Ownership: owns the open lock file; its destructor lets go.
/// Threads:   one holder at a time, in this process too (a flock belongs to the open file).
class WriterLock {
 public:
  /// Waits its turn for at most `timeout`; zero tries once.
  /// Errors: kTimeout `commit.locked`, naming the holder.
  static Result<WriterLock> take(const StateDirectory& state, const Clock& clock,
                                 std::chrono::milliseconds timeout);

  /// The id of the last transaction, when the holder before us noted it in this session; only a
  /// hint that saves listing the history.
  [[nodiscard]] std::optional<TxId> last_transaction(const std::string& session) const;
  /// Notes it for the next holder; a failure only costs that one a listing.
  void remember(TxId last, const std::string& session);
  /// Takes the note back: the next holder reads every journal again.
  Result<void> forget_last();

 private:
  explicit WriterLock(std::unique_ptr<WritableFile> file) : file_(std::move(file)) {}
  static Result<std::optional<WriterLock>> try_take(const StateDirectory& state,
                                                    const Clock& clock);
  Result<void> write_text();

  std::unique_ptr<WritableFile> file_;
  std::string holder_;
  std::string last_;
};

}  // namespace galley
