#pragma once

#include <cstdint>
#include <vector>

struct sock_filter;

namespace galley {

/// The only system calls that galley-syntax may make once it is confined, as a program for seccomp:
/// reading and writing what is open, memory that cannot be executed, and ending. Any other kills
/// the process.
[[nodiscard]] std::vector<sock_filter> syntax_filter();

/// Takes everything from this process but its memory, its open descriptors and `max_memory` bytes
/// of address space: no file, no socket, no process, no new privilege. Returns false with errno set
/// when that fails.
[[nodiscard]] bool confine_process(uint64_t max_memory);

}  // namespace galley
