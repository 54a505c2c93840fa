#pragma once

#include <galley/workspace.h>

#include <chrono>
#include <cstdint>
#include <memory>

namespace galley {

/// A clock that stands still until it is told to go on: give clock() to WorkspaceOptions::clock.
///
/// Ownership: owns the clock, which has to outlive every workspace that was opened with it.
/// Threads:   safe to share.
class FakeClock {
 public:
  /// 2024-01-01T12:34:56.789Z.
  static constexpr int64_t kStart = 1'704'112'496'789'000'000;

  explicit FakeClock(int64_t wall_ns = kStart);
  ~FakeClock();
  FakeClock(const FakeClock&) = delete;
  FakeClock& operator=(const FakeClock&) = delete;

  /// Both the wall clock and the clock of deadlines go on by so much.
  void advance(std::chrono::nanoseconds span);
  /// Nanoseconds since 1970-01-01 UTC.
  [[nodiscard]] int64_t wall_ns() const;
  [[nodiscard]] const Clock* clock() const;

 private:
  class Standing;
  std::unique_ptr<Standing> standing_;
};

}  // namespace galley
