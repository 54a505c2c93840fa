#pragma once

#include <cstdint>
#include <vector>

struct sock_filter;

namespace galley {

/// Returns the seccomp program for a confined galley-syntax. It allows only reading and writing
/// open descriptors, using memory that cannot be executed, and ending. Any other call kills the
/// process.
[[nodiscard]] std::vector<sock_filter> syntax_filter();

/// Takes files, sockets, other processes and new privileges from this process. It keeps its memory,
/// its open descriptors and at most `max_memory` bytes of address space. Returns false with errno
/// set on failure.
[[nodiscard]] bool confine_process(uint64_t max_memory);

}  // namespace galley
