#include "base/clock.h"

#include <array>
#include <cstdio>
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
  const auto seconds = static_cast<std::time_t>(wall_ns / kNsPerSecond);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  std::array<char, 96> text{};
  const int ms = static_cast<int>(wall_ns % kNsPerSecond / kNsPerMs);
  std::snprintf(text.data(), text.size(), "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ",
                parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min,
                parts.tm_sec, ms);
  return text.data();
}

}  // namespace galley
