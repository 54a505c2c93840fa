#include "base/process_usage.h"

#include <sys/resource.h>

#include <ctime>

namespace galley {

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
