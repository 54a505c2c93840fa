#pragma once

#include <galley/workspace.h>

#include <chrono>
#include <cstdint>
#include <memory>

namespace galley {

/// A clock that moves only when advance() is called. Pass clock() as WorkspaceOptions::clock.
///
/// Ownership: owns the clock. The FakeClock must outlive every workspace that uses clock().
/// Threads:   safe to share.
class FakeClock {
 public:
  /// 2024-01-01T12:34:56.789Z.
  static constexpr int64_t kStart = 1'704'112'496'789'000'000;

  explicit FakeClock(int64_t wall_ns = kStart);
  ~FakeClock();
  FakeClock(const FakeClock&) = delete;
  FakeClock& operator=(const FakeClock&) = delete;

  /// Advances both clocks, the wall clock and the one for deadlines, by this span.
  void advance(std::chrono::nanoseconds span);
  /// Returns nanoseconds since 1970-01-01 UTC.
  [[nodiscard]] int64_t wall_ns() const;
  [[nodiscard]] const Clock* clock() const;

 private:
  class StoppedClock;
  std::unique_ptr<StoppedClock> clock_;
};

}  // namespace galley
