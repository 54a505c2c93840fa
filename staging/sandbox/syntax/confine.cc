#include "staging/sandbox/syntax/confine.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>

namespace galley {
namespace {

#if defined(__x86_64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#else
#error "name this machine's architecture as audit(7) does"
#endif

constexpr rlim_t kMaxCpuSeconds = 60;
constexpr uint32_t kLowWord = 0;  // first on both machines

constexpr long kAllowed[] = {SYS_read,          SYS_write,   SYS_munmap,       SYS_mremap,
                             SYS_brk,           SYS_madvise, SYS_exit,         SYS_exit_group,
                             SYS_clock_gettime, SYS_futex,   SYS_rt_sigreturn, SYS_restart_syscall};

sock_filter statement(uint16_t code, uint32_t value) { return BPF_STMT(code, value); }
sock_filter jump(uint32_t value, uint8_t if_equal, uint8_t if_not) {
  return BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, if_equal, if_not);
}
constexpr uint32_t argument(size_t index) {
  return static_cast<uint32_t>(offsetof(seccomp_data, args) + index * sizeof(uint64_t)) + kLowWord;
}

bool limit(__rlimit_resource which, rlim_t value) {
  const rlimit both{value, value};
  return setrlimit(which, &both) == 0;
}

}  // namespace

std::vector<sock_filter> syntax_filter() {
  constexpr uint16_t kLoad = BPF_LD | BPF_W | BPF_ABS;
  constexpr uint16_t kReturn = BPF_RET | BPF_K;
  std::vector<sock_filter> program = {
      statement(kLoad, offsetof(seccomp_data, arch)),
      jump(kArchitecture, 1, 0),
      statement(kReturn, SECCOMP_RET_KILL_PROCESS),
      statement(kLoad, offsetof(seccomp_data, nr)),
  };
  for (const long call : kAllowed) {
    program.push_back(jump(static_cast<uint32_t>(call), 0, 1));
    program.push_back(statement(kReturn, SECCOMP_RET_ALLOW));
  }
  // mmap: only anonymous memory (flags, argument 3) that is not executable (protection, argument
  // 2).
  program.push_back(jump(static_cast<uint32_t>(SYS_mmap), 0, 6));
  program.push_back(statement(kLoad, argument(3)));
  program.push_back(jump(MAP_PRIVATE | MAP_ANONYMOUS, 0, 4));
  program.push_back(statement(kLoad, argument(2)));
  program.push_back(jump(PROT_READ | PROT_WRITE, 1, 0));
  program.push_back(jump(PROT_NONE, 0, 1));
  program.push_back(statement(kReturn, SECCOMP_RET_ALLOW));
  program.push_back(statement(kReturn, SECCOMP_RET_KILL_PROCESS));
  return program;
}

bool confine_process(uint64_t max_memory) {
  if (!limit(RLIMIT_AS, max_memory) || !limit(RLIMIT_CORE, 0) || !limit(RLIMIT_NPROC, 0) ||
      !limit(RLIMIT_FSIZE, 0) || !limit(RLIMIT_CPU, kMaxCpuSeconds)) {
    return false;
  }
  std::vector<sock_filter> program = syntax_filter();
  const sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

}  // namespace galley
