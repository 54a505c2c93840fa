#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "base/clock.h"

namespace galley {

/// A clock that advances only when pass() is called. Any thread may read it.
class ManualClock final : public Clock {
 public:
  [[nodiscard]] int64_t wall_ns() const override { return 1'795'000'000'000'000'000 + ns_.load(); }
  [[nodiscard]] std::chrono::steady_clock::time_point steady() const override {
    return std::chrono::steady_clock::time_point(std::chrono::nanoseconds(ns_.load()));
  }
  void pass(std::chrono::nanoseconds span) { ns_ += span.count(); }

 private:
  std::atomic<int64_t> ns_{1'000'000'000};
};

}  // namespace galley
