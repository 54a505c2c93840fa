#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <set>

namespace galley {

/// What all processes of a command hold and have used.
struct Usage {
  uint64_t cpu_ns = 0;
  uint64_t memory_bytes = 0;   ///< resident; exact (shared pages once) when over suspicion
  uint64_t written_bytes = 0;  ///< dirtied on storage, as /proc/<pid>/io has it: not on tmpfs
  uint64_t peak_bytes = 0;     ///< the largest any one process has been
  uint32_t processes = 0;
};

/// Visits, by a descriptor of its directory, each process of this /proc that `chosen` names, or all
/// but pid 1 when it is null.
void for_each_process(const std::set<pid_t>* chosen, const std::function<void(int)>& visit);

/// Sums /proc over every process in it but pid 1. A process that was waited for is part of its
/// parent's figures, so nothing is counted twice or forgotten (proc(5)); pid 1 knows its own.
/// `suspect_memory_bytes`: above this the slower, exact memory figure is read; 0 for never.
[[nodiscard]] Usage measure_all(uint64_t suspect_memory_bytes);

/// As measure_all(), over these processes only.
[[nodiscard]] Usage measure_these(const std::set<pid_t>& processes, uint64_t suspect_memory_bytes);

/// Adds what the processes that the caller itself waited for had used.
void add_waited_for(Usage& usage);

}  // namespace galley
