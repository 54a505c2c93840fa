#pragma once

#include <linux/filter.h>

#include <cstdint>
#include <vector>

namespace galley {

/// A machine for which the filter can be written; each has its own numbers of system calls.
enum class Machine : uint8_t { kX86_64, kAarch64 };

#if defined(__x86_64__)
inline constexpr Machine kOwnMachine = Machine::kX86_64;
#elif defined(__aarch64__)
inline constexpr Machine kOwnMachine = Machine::kAarch64;
#else
#error "name this machine's system calls in seccomp_filter.cc"
#endif

/// What the other walls around the command leave to the filter.
struct SeccompOptions {
  bool restricts_programs = false;  ///< no memfd_create: such a file could always be executed
  bool local_sockets = true;        ///< unix ones; without them only connected pairs
  bool internet_sockets = true;     ///< where there are local ones, these are open too
  bool writes_host = false;         ///< folders of the host: no setgid bits either
};

/// The system calls that a command has no business with, as a program for seccomp on `machine`. No
/// call gives a file the setuid bit.
[[nodiscard]] std::vector<sock_filter> seccomp_filter(Machine machine,
                                                      const SeccompOptions& options);

}  // namespace galley
