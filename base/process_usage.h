#pragma once

#include <chrono>
#include <cstdint>

namespace galley {

/// Processor time that the calling thread has used so far (CLOCK_THREAD_CPUTIME_ID); 0 where the
/// system does not tell.
[[nodiscard]] std::chrono::nanoseconds thread_cpu_time();

/// The most memory that this process ever had resident, in bytes (ru_maxrss of getrusage(2)). It
/// never falls, so the difference of two looks is what was needed beyond everything before.
[[nodiscard]] uint64_t peak_resident_bytes();

}  // namespace galley
