#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <set>

#include "staging/sandbox/helper/layer_trees.h"
#include "staging/sandbox/helper/request.h"

namespace galley {

/// Gives this process the user, the restrictions and the descriptors of the command, and executes
/// the command. On failure it writes the reason to `notes` and exits.
[[noreturn]] void become_command(const SandboxRequest& request, int notes);

/// Brings up the loopback device of this process's network namespace.
void bring_loopback_up();

/// Starts the command, reaps processes, watches the limits, reports, and exits when the command has
/// ended; the kernel then kills the remaining processes. It also exits when `lifeline` breaks: the
/// monitor has died. `gauge` watches the command's layers. `home` is the folder for kRefreshed.
[[noreturn]] void live_as_pid_one(const SandboxRequest& request, LayerGauge gauge, Fd home,
                                  int notes, int lifeline);

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

/// Notes the processes that a command left: those of `family`, or without it all except pid 1. They
/// get a moment to end, because the writer of a pipe may end after its reader.
void note_left_processes(const std::function<std::set<pid_t>()>& family, HelperReport& report);

/// Notes the files that a command left in its temporary directory. Its `home` does not count: the
/// caches of programs are there.
void note_left_files(const char* directory, HelperReport& report);

/// Returns whether the first thread of a process is ending or a zombie; the kernel then shows none
/// of its open files. `threads` counts that thread and those that still run.
[[nodiscard]] bool is_exiting(int process, uint64_t& threads);

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
