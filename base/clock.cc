#include "base/clock.h"

#include <sys/resource.h>

#include <ctime>

namespace galley {

int64_t SystemClock::wall_ns() const {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::chrono::steady_clock::time_point SystemClock::steady() const {
  return std::chrono::steady_clock::now();
}

std::string rfc3339_utc(int64_t wall_ns) {
  constexpr int64_t kNsPerSecond = 1'000'000'000;
  constexpr int64_t kNsPerMs = 1'000'000;
  using std::chrono::days;
  using std::chrono::sys_seconds;
  const sys_seconds time{std::chrono::seconds(wall_ns / kNsPerSecond)};
  const auto midnight = std::chrono::floor<days>(time);
  const std::chrono::year_month_day date{midnight};
  const std::chrono::hh_mm_ss clock{time - midnight};
  std::string text = "0000-00-00T00:00:00.000Z";
  const auto put = [&text](size_t end, int value) {
    for (; value > 0; value /= 10) text[--end] = static_cast<char>('0' + value % 10);
  };
  put(4, int{date.year()});
  put(7, static_cast<int>(unsigned{date.month()}));
  put(10, static_cast<int>(unsigned{date.day()}));
  put(13, static_cast<int>(clock.hours().count()));
  put(16, static_cast<int>(clock.minutes().count()));
  put(19, static_cast<int>(clock.seconds().count()));
  put(23, static_cast<int>(wall_ns % kNsPerSecond / kNsPerMs));
  return text;
}

std::chrono::nanoseconds thread_cpu_time() {
  timespec now{};
  if (::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) != 0) return {};
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

uint64_t peak_resident_bytes() {
  constexpr uint64_t kKibibyte = 1024;
  rusage used{};
  if (::getrusage(RUSAGE_SELF, &used) != 0) return 0;
  return static_cast<uint64_t>(used.ru_maxrss) * kKibibyte;
}

}  // namespace galley
