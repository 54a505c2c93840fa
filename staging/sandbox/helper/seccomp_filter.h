#pragma once

#include <linux/filter.h>

#include <cstdint>
#include <vector>

namespace galley {

/// The machines that the filter supports; each has its own numbers of system calls.
enum class Machine : uint8_t { kX86_64, kAarch64 };

#if defined(__x86_64__)
inline constexpr Machine kOwnMachine = Machine::kX86_64;
#elif defined(__aarch64__)
inline constexpr Machine kOwnMachine = Machine::kAarch64;
#else
#error "name this machine's system calls in seccomp_filter.cc"
#endif

/// Restrictions that the filter must enforce because the other walls do not.
struct SeccompOptions {
  bool restricts_programs = false;  ///< no memfd_create: its files could always be executed
  bool local_sockets = true;        ///< unix sockets; otherwise only connected pairs
  bool internet_sockets = true;     ///< with local sockets, these are open, too
  bool writes_host = false;         ///< folders of the host: setgid bits are refused, too
};

/// The system calls that a command does not need, as a program for seccomp on `machine`. No call
/// can give a file the setuid bit.
[[nodiscard]] std::vector<sock_filter> seccomp_filter(Machine machine,
                                                      const SeccompOptions& options);

}  // namespace galley
