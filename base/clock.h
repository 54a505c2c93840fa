#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace galley {

/// A source of time. Code that needs the current time takes a Clock as a parameter, so tests can
/// replace it.
class Clock {
 public:
  virtual ~Clock() = default;
  /// Nanoseconds since 1970-01-01 UTC.
  [[nodiscard]] virtual int64_t wall_ns() const = 0;
  [[nodiscard]] virtual std::chrono::steady_clock::time_point steady() const = 0;
};

/// The clocks of the operating system.
class SystemClock final : public Clock {
 public:
  [[nodiscard]] int64_t wall_ns() const override;
  [[nodiscard]] std::chrono::steady_clock::time_point steady() const override;
};

/// RFC 3339 in UTC with milliseconds: 2026-11-21T08:00:00.000Z.
[[nodiscard]] std::string rfc3339_utc(int64_t wall_ns);

/// A point in time after which work must stop. A default-constructed deadline never passes.
class Deadline {
 public:
  Deadline() = default;
  static Deadline after(const Clock& clock, std::chrono::milliseconds span) {
    Deadline deadline;
    deadline.at_ = clock.steady() + span;
    return deadline;
  }
  [[nodiscard]] bool has_passed(const Clock& clock) const { return clock.steady() >= at_; }
  [[nodiscard]] bool is_never() const {
    return at_ == std::chrono::steady_clock::time_point::max();
  }
  /// The time left; 0 when the deadline has passed.
  [[nodiscard]] std::chrono::milliseconds left(const Clock& clock) const {
    const auto now = clock.steady();
    if (now >= at_) return std::chrono::milliseconds(0);
    return std::chrono::duration_cast<std::chrono::milliseconds>(at_ - now);
  }

 private:
  std::chrono::steady_clock::time_point at_ = std::chrono::steady_clock::time_point::max();
};

/// Processor time that the calling thread has used so far (CLOCK_THREAD_CPUTIME_ID); 0 where the
/// system does not report it.
[[nodiscard]] std::chrono::nanoseconds thread_cpu_time();

/// The largest resident memory of this process so far, in bytes (ru_maxrss of getrusage(2)). It
/// never falls, so the difference between two readings shows only growth beyond the earlier
/// maximum.
[[nodiscard]] uint64_t peak_resident_bytes();

}  // namespace galley
