#include <galley/testing/fake_clock.h>

#include <atomic>

#include "base/clock.h"

namespace galley {

class FakeClock::StoppedClock final : public Clock {
 public:
  explicit StoppedClock(int64_t wall_ns) : start_ns_(wall_ns) {}

  [[nodiscard]] int64_t wall_ns() const override { return start_ns_ + passed_ns_.load(); }
  [[nodiscard]] std::chrono::steady_clock::time_point steady() const override {
    return std::chrono::steady_clock::time_point(std::chrono::nanoseconds(passed_ns_.load()));
  }
  void advance(std::chrono::nanoseconds span) { passed_ns_ += span.count(); }

 private:
  int64_t start_ns_;
  std::atomic<int64_t> passed_ns_{0};
};

FakeClock::FakeClock(int64_t wall_ns) : clock_(std::make_unique<StoppedClock>(wall_ns)) {}
FakeClock::~FakeClock() = default;

void FakeClock::advance(std::chrono::nanoseconds span) { clock_->advance(span); }
int64_t FakeClock::wall_ns() const { return clock_->wall_ns(); }
const Clock* FakeClock::clock() const { return clock_.get(); }

}  // namespace galley
