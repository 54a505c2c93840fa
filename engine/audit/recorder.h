#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "engine/audit/audit.h"

namespace galley {

/// The time at which events are recorded.
enum class RecordTime : uint8_t {
  kAtOnce,  ///< at once; for stored transactions and the workspace's own actions
  kAtEnd,  ///< refusals and starts of programs at once, other events at the end of the transaction;
           ///< for transactions in memory
  kCalls,  ///< only tool calls, at once; for a person's preview
  kTries,  ///< tool calls, edits and fixes, at once; for an agent's preview
};

/// Records the events of one transaction.
///
/// Invariant: every record names the transaction, and the file of rules if it is another one than
///            galley.toml. Without a log nothing is written, because the
///            workspace does not keep state yet.
/// Ownership: borrows the workspace's pointer to its log, and the clock.
/// Threads:   confined to one thread.
/// Errors:    AuditLog's.
class Recorder {
 public:
  /// `log` is a smart pointer to the log; it may be null and be set later. If `tx` is empty, each
  /// event names its transaction itself. `rules`: see AuditEvent.
  template <class Owner>
  Recorder(const Owner& log, const Clock& clock, RecordTime time, std::string tx = {},
           std::string rules = {})
      : log_([&log] { return log.get(); }),
        clock_(&clock),
        time_(time),
        tx_(std::move(tx)),
        rules_(std::move(rules)),
        begun_ns_(clock.wall_ns()) {}

  /// Writes the held records if they are larger than kMaxHeldRecordBytes. It is called before an
  /// effect: after it, holding the record cannot fail.
  Result<void> make_room();
  /// Writes the record of one event, or holds it until write_held(). Holding does not fail.
  Result<void> record(AuditEvent event);
  /// Records an event that is never held: the outcome of a commit.
  Result<void> record_now(AuditEvent event);
  /// Writes the held records, in order.
  Result<void> write_held();
  /// As write_held(), for records of actions without an effect. If that fails, they are dropped,
  /// and the caller tells it.
  Result<void> write_or_drop_held();

  /// Whether events of this kind are never written, so their records need not be built.
  [[nodiscard]] bool is_silent(AuditKind kind) const;
  /// Whether events other than tool calls and refusals are held or dropped. Recording such an event
  /// does not fail.
  [[nodiscard]] bool holds() const { return time_ != RecordTime::kAtOnce; }
  [[nodiscard]] const Clock& clock() const { return *clock_; }
  /// The id of the transaction while it is open.
  [[nodiscard]] const std::string& tx() const { return tx_; }
  /// When the transaction began: no record of it is older. A stored one began in another process.
  [[nodiscard]] int64_t begun_ns() const { return begun_ns_; }
  void began_at(int64_t begun_ns) { begun_ns_ = begun_ns; }

 private:
  /// An event whose record is not built yet.
  struct Happened {
    AuditEvent event;
    int64_t wall_ns;
  };
  void complete(AuditEvent& event) const;
  void build_last();

  std::function<AuditLog*()> log_;
  const Clock* clock_;
  RecordTime time_;
  std::string tx_;
  std::string rules_;
  int64_t begun_ns_;
  std::vector<AuditMembers> held_;
  size_t held_bytes_ = 0;
  /// The event after those in `held_`. Often a call is the only one, and if there is no log when
  /// its transaction ends, its record is never needed.
  std::optional<Happened> last_;
};

/// A unique id, in aiOS's form: `exec-20240101-123456-abcdef`, the time in UTC and six letters or
/// digits. Each process begins at a random value, and its ids differ in these six characters.
[[nodiscard]] std::string new_execution_id(const Clock& clock);
/// The record of a program's start has the id of the record of its end, followed by this suffix.
inline constexpr std::string_view kBegunSuffix = "-begun";

/// If the held records are larger than this, they are written before the next effect.
inline constexpr size_t kMaxHeldRecordBytes = size_t{16} << 20U;

}  // namespace galley
