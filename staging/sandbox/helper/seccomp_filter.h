#pragma once

#include <linux/filter.h>

#include <cstdint>
#include <vector>

namespace galley {

/// The machines that the filter supports. Each has its own system call numbers.
enum class Machine : uint8_t { kX86_64, kAarch64 };

#if defined(__x86_64__)
inline constexpr Machine kOwnMachine = Machine::kX86_64;
#elif defined(__aarch64__)
inline constexpr Machine kOwnMachine = Machine::kAarch64;
#else
#error "name this machine's system calls in seccomp_filter.cc"
#endif

/// Restrictions that only the filter can enforce, not the other parts of the sandbox.
struct SeccompOptions {
  bool restricts_programs = false;  ///< no memfd_create: its files could always be executed
  bool local_sockets = true;        ///< unix sockets; otherwise only connected pairs
  bool internet_sockets = true;     ///< always allowed with local sockets
  bool writes_host = false;         ///< to folders of the host: setgid bits are refused, too
  bool fixed_random = false;        ///< no getrandom: programs read /dev/urandom instead
  bool limits_files = false;        ///< fallocate makes no file larger
};

/// Returns a seccomp program for `machine`. It refuses the system calls that a command does not
/// need, and calls that would set the setuid bit of a file.
[[nodiscard]] std::vector<sock_filter> seccomp_filter(Machine machine,
                                                      const SeccompOptions& options);

}  // namespace galley
