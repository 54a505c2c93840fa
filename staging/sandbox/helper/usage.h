#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <set>

namespace galley {

inline constexpr uint64_t kNsPerSecond = 1'000'000'000;

/// The resources that the processes of a command use, together.
struct Usage {
  uint64_t cpu_ns = 0;
  uint64_t memory_bytes = 0;   ///< resident; exact (shared pages once) above the suspected limit
  uint64_t written_bytes = 0;  ///< dirtied on storage, as in /proc/<pid>/io: not on tmpfs
  uint64_t peak_bytes = 0;     ///< the largest size of any one process
  uint32_t processes = 0;
};

/// Calls `visit` for each process of this /proc that is in `chosen`, with a descriptor of its
/// directory. If `chosen` is null, it visits all except pid 1.
void for_each_process(const std::set<pid_t>* chosen, const std::function<void(int)>& visit);

/// Returns the sums over every process in /proc except pid 1. The figures of a process that was
/// waited for are part of its parent's (proc(5)), so each is counted once; add_waited_for() adds
/// those that pid 1 waited for. Above `suspect_memory_bytes` the exact memory figure is read, which
/// is slower; 0 means never.
[[nodiscard]] Usage measure_all(uint64_t suspect_memory_bytes);

/// Returns the sums over these processes, as measure_all() does.
[[nodiscard]] Usage measure_these(const std::set<pid_t>& processes, uint64_t suspect_memory_bytes);

/// Adds the usage of the processes that the caller waited for.
void add_waited_for(Usage& usage);

}  // namespace galley
