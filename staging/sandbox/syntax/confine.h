#pragma once

#include <cstdint>
#include <vector>

struct sock_filter;

namespace galley {

/// The only system calls that galley-syntax may make once it is confined, as a program for seccomp:
/// reading and writing open descriptors, memory that cannot be executed, and ending. Any other call
/// kills the process.
[[nodiscard]] std::vector<sock_filter> syntax_filter();

/// Takes everything from this process except its memory, its open descriptors and `max_memory`
/// bytes of address space: files, sockets, processes and new privileges. Returns false with errno
/// set on failure.
[[nodiscard]] bool confine_process(uint64_t max_memory);

}  // namespace galley
