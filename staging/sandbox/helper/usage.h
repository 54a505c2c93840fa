#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <set>

namespace galley {

inline constexpr uint64_t kNsPerSecond = 1'000'000'000;

/// What the processes of a command hold and have used, together.
struct Usage {
  uint64_t cpu_ns = 0;
  uint64_t memory_bytes = 0;   ///< resident; exact (shared pages once) when over suspicion
  uint64_t written_bytes = 0;  ///< dirtied on storage, as /proc/<pid>/io has it: not on tmpfs
  uint64_t peak_bytes = 0;     ///< the largest any one process has been
  uint32_t processes = 0;
};

/// Calls `visit` with a descriptor of its directory for each process of this /proc that is in
/// `chosen`; when `chosen` is null, for all but pid 1.
void for_each_process(const std::set<pid_t>* chosen, const std::function<void(int)>& visit);

/// Returns the sums over every process in /proc but pid 1. The figures of a process that was waited
/// for are part of its parent's (proc(5)), so each is counted once; add_waited_for() adds those
/// that pid 1 waited for. Above `suspect_memory_bytes` the exact memory figure is read, which is
/// slower; 0 means never.
[[nodiscard]] Usage measure_all(uint64_t suspect_memory_bytes);

/// Returns the sums over these processes, as measure_all() does.
[[nodiscard]] Usage measure_these(const std::set<pid_t>& processes, uint64_t suspect_memory_bytes);

/// Adds what the processes that the caller waited for had used.
void add_waited_for(Usage& usage);

}  // namespace galley
