#pragma once

#include <chrono>
#include <cstdint>

namespace galley {

/// Processor time that the calling thread has used so far (CLOCK_THREAD_CPUTIME_ID); 0 where the
/// system does not report it.
[[nodiscard]] std::chrono::nanoseconds thread_cpu_time();

/// The largest resident memory of this process so far, in bytes (ru_maxrss of getrusage(2)). It
/// never falls, so the difference between two readings shows only growth beyond the earlier
/// maximum.
[[nodiscard]] uint64_t peak_resident_bytes();

}  // namespace galley
