#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "engine/audit/audit.h"

namespace galley {

/// When what happens is put on record.
enum class RecordTime : uint8_t {
  kAtOnce,  ///< as it happens: stored transactions, and what a workspace does by itself
  kAtEnd,   ///< refusals as they happen, the rest when the transaction ends: one in memory
  kCalls,   ///< calls of tools as they happen, and nothing else: a preview
};

/// Puts what happens in one transaction on record.
///
/// Invariant: every record names the transaction. Where there is no log yet nothing is written:
///            nothing was ever kept in that workspace.
/// Ownership: borrows the place where the workspace has its log, and the clock.
/// Threads:   confined to one thread.
/// Errors:    AuditLog's.
class Recorder {
 public:
  /// `log` is a pointer that owns the log; it may be empty, and filled later. `tx` may be empty:
  /// then the events say it.
  template <class Owner>
  Recorder(const Owner& log, const Clock& clock, RecordTime time, std::string tx = {})
      : log_([&log] { return log.get(); }), clock_(&clock), time_(time), tx_(std::move(tx)) {}

  /// Records one event, or holds it until write_held().
  Result<void> record(AuditEvent event);
  /// Records one that is not held in any case: the outcome of a commit.
  Result<void> record_now(AuditEvent event);
  /// Writes what is held, in order.
  Result<void> write_held();

  /// An event of this kind is never written, so there is no need to put its record together.
  [[nodiscard]] bool is_silent(AuditKind kind) const;
  /// Events are held, so recording one cannot fail.
  [[nodiscard]] bool holds() const { return time_ != RecordTime::kAtOnce; }
  [[nodiscard]] const Clock& clock() const { return *clock_; }
  /// The id that the transaction has while it is open.
  [[nodiscard]] const std::string& tx() const { return tx_; }

 private:
  void complete(AuditEvent& event) const;

  std::function<AuditLog*()> log_;
  const Clock* clock_;
  RecordTime time_;
  std::string tx_;
  std::vector<std::string> held_;
  size_t held_bytes_ = 0;
};

/// An id that no other record has, as aiOS writes them: `exec-20240101-123456-abcdef`, the time in
/// UTC and six letters or digits, which are others for every id of this process and begin anywhere
/// in another one.
[[nodiscard]] std::string new_execution_id(const Clock& clock);
/// The record of a program that begins has the id of the one that tells how it ended, and this.
inline constexpr std::string_view kBegunSuffix = "-begun";

/// Held records beyond this are written early.
inline constexpr size_t kMaxHeldRecordBytes = size_t{16} << 20U;

}  // namespace galley
