#include "staging/sandbox/helper/seccomp_filter.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <set>
#include <vector>

namespace galley {
namespace {

constexpr uint32_t kEperm = SECCOMP_RET_ERRNO | EPERM;
constexpr uint32_t kEnosys = SECCOMP_RET_ERRNO | ENOSYS;
constexpr uint32_t kNoFamily = SECCOMP_RET_ERRNO | EAFNOSUPPORT;
constexpr uint32_t kNoPair = SECCOMP_RET_ERRNO | EOPNOTSUPP;
constexpr uint32_t kBroken = 0xdeadbeef;  // no answer of a filter

/// Runs a filter as the kernel does (net/core/filter.c), for the instructions that ours has.
uint32_t run(const std::vector<sock_filter>& code, const seccomp_data& data) {
  uint32_t accumulator = 0;
  for (size_t at = 0; at < code.size(); ++at) {
    const sock_filter& step = code[at];
    const auto jump_if = [&](bool condition) { at += condition ? step.jt : step.jf; };
    switch (step.code) {
      case BPF_LD | BPF_W | BPF_ABS:
        if (step.k % sizeof accumulator != 0 || step.k >= sizeof data) return kBroken;
        std::memcpy(&accumulator, reinterpret_cast<const char*>(&data) + step.k,
                    sizeof accumulator);
        break;
      case BPF_ALU | BPF_AND | BPF_K:
        accumulator &= step.k;
        break;
      case BPF_JMP | BPF_JEQ | BPF_K:
        jump_if(accumulator == step.k);
        break;
      case BPF_JMP | BPF_JGE | BPF_K:
        jump_if(accumulator >= step.k);
        break;
      case BPF_JMP | BPF_JSET | BPF_K:
        jump_if((accumulator & step.k) != 0);
        break;
      case BPF_JMP | BPF_JA:
        at += step.k;
        break;
      case BPF_RET | BPF_K:
        return step.k;
      default:
        return kBroken;
    }
  }
  return kBroken;
}

/// The numbers of one machine, from the kernel's tables (syscall_64.tbl; asm-generic/unistd.h).
struct Numbers {
  Machine machine;
  uint32_t architecture;
  int read, openat, execve, exit_group, mmap, clone3;
  int mount, umount2, setns, keyctl, bpf, init_module, reboot, add_key, chroot, pivot_root;
  int io_uring_setup, memfd_create, clone, unshare, ptrace, ioctl, socket, socketpair, connect;
};

constexpr Numbers kMachines[] = {
    {Machine::kX86_64,
     AUDIT_ARCH_X86_64,
     0,
     257,
     59,
     231,
     9,
     435,
     165,
     166,
     308,
     250,
     321,
     175,
     169,
     248,
     161,
     155,
     425,
     319,
     56,
     272,
     101,
     16,
     41,
     53,
     42},
    {Machine::kAarch64,
     AUDIT_ARCH_AARCH64,
     63,
     56,
     221,
     94,
     222,
     435,
     40,
     39,
     268,
     219,
     280,
     105,
     142,
     217,
     51,
     41,
     425,
     279,
     220,
     97,
     117,
     29,
     198,
     199,
     203},
};

class SeccompFilter : public testing::TestWithParam<Numbers> {
 protected:
  uint32_t answer(int number, uint64_t first = 0, uint64_t second = 0, uint64_t third = 0,
                  uint64_t fourth = 0) const {
    seccomp_data data{};
    data.nr = number;
    data.arch = GetParam().architecture;
    data.args[0] = first;
    data.args[1] = second;
    data.args[2] = third;
    data.args[3] = fourth;
    return run(seccomp_filter(GetParam().machine, options), data);
  }
  SeccompOptions options;
};

INSTANTIATE_TEST_SUITE_P(Machines, SeccompFilter, testing::ValuesIn(kMachines),
                         [](const auto& machine) {
                           return machine.param.machine == Machine::kX86_64 ? "x86_64" : "aarch64";
                         });

TEST_P(SeccompFilter, OrdinaryCallsAreAllowed) {
  const Numbers& n = GetParam();
  for (const int number : {n.read, n.openat, n.execve, n.exit_group, n.mmap, n.memfd_create,
                           n.socketpair, n.connect}) {
    EXPECT_EQ(answer(number), SECCOMP_RET_ALLOW) << number;
  }
}

TEST_P(SeccompFilter, AdministrativeCallsAreDenied) {
  const Numbers& n = GetParam();
  for (const int number : {n.mount, n.umount2, n.setns, n.keyctl, n.bpf, n.init_module, n.reboot,
                           n.add_key, n.chroot, n.pivot_root}) {
    EXPECT_EQ(answer(number), kEperm) << number;
  }
}

TEST_P(SeccompFilter, NewerCallsFailAsNotImplemented) {
  EXPECT_EQ(answer(GetParam().clone3), kEnosys);
  EXPECT_EQ(answer(GetParam().io_uring_setup), kEnosys);
  constexpr int kOpenat2 = 437;  // of both machines
  EXPECT_EQ(answer(kOpenat2), kEnosys);
  options.restricts_programs = true;
  EXPECT_EQ(answer(GetParam().memfd_create), kEnosys);
  const int getrandom = GetParam().machine == Machine::kX86_64 ? 318 : 278;
  EXPECT_EQ(answer(getrandom), SECCOMP_RET_ALLOW);
  options.fixed_random = true;
  EXPECT_EQ(answer(getrandom), kEnosys);
}

TEST_P(SeccompFilter, EveryNumberHasAnAnswer) {
  std::set<int> shut;
  constexpr int kBeyondEveryCall = 1000;
  for (int number = -1; number <= kBeyondEveryCall; ++number) {
    const uint32_t said = answer(number);
    EXPECT_NE(said, kBroken) << number;
    if (said == kEperm) shut.insert(number);
  }
  // Both lists are one; seven calls are of x86-64 only. A negative number has the bit of x32.
  EXPECT_EQ(shut.size(), GetParam().machine == Machine::kX86_64 ? 55U : 48U);
  EXPECT_EQ(answer(-1), GetParam().machine == Machine::kX86_64 ? kEnosys : SECCOMP_RET_ALLOW);
}

TEST_P(SeccompFilter, ProcessIsKilledWhenItCallsAsAnotherMachine) {
  constexpr uint32_t kOthers[] = {AUDIT_ARCH_I386, AUDIT_ARCH_ARM, AUDIT_ARCH_X86_64,
                                  AUDIT_ARCH_AARCH64};
  for (const uint32_t other : kOthers) {
    if (other == GetParam().architecture) continue;
    seccomp_data data{};
    data.nr = GetParam().read;
    data.arch = other;
    EXPECT_EQ(run(seccomp_filter(GetParam().machine, options), data), SECCOMP_RET_KILL_PROCESS);
  }
}

TEST_P(SeccompFilter, NamespacesAreDeniedAndProcessesAreAllowed) {
  constexpr uint64_t kThread = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD;
  for (const int number : {GetParam().clone, GetParam().unshare}) {
    EXPECT_EQ(answer(number, 0), SECCOMP_RET_ALLOW);
    EXPECT_EQ(answer(number, kThread), SECCOMP_RET_ALLOW);
    for (const uint64_t made : {CLONE_NEWUSER, CLONE_NEWNS, CLONE_NEWNET, CLONE_NEWPID}) {
      EXPECT_EQ(answer(number, kThread | made), kEperm);
    }
  }
}

TEST_P(SeccompFilter, NoCallSetsTheSetuidBit) {
  const bool is_x86_64 = GetParam().machine == Machine::kX86_64;
  struct Call {
    int number;
    size_t mode;  ///< the argument
    int flags;    ///< the argument; -1: none
  };
  std::vector<Call> calls = {{is_x86_64 ? 91 : 52, 1, -1},
                             {is_x86_64 ? 268 : 53, 2, -1},
                             {452, 2, -1},
                             {is_x86_64 ? 259 : 33, 2, -1},
                             {is_x86_64 ? 257 : 56, 3, 2}};
  if (is_x86_64) calls.insert(calls.end(), {{90, 1, -1}, {85, 1, -1}, {133, 1, -1}, {2, 2, 1}});
  constexpr uint64_t kHighBits = uint64_t{1} << 32U;
  for (const Call& one : calls) {
    const auto says = [&](uint64_t mode, uint64_t flags = O_CREAT | O_WRONLY) {
      uint64_t arguments[4] = {};
      arguments[one.mode] = mode;
      if (one.flags >= 0) arguments[one.flags] = flags;
      return answer(one.number, arguments[0], arguments[1], arguments[2], arguments[3]);
    };
    for (const bool writes_host : {false, true}) {
      options.writes_host = writes_host;
      EXPECT_EQ(says(01777), SECCOMP_RET_ALLOW) << one.number;
      EXPECT_EQ(says(04755), kEperm) << one.number;
      EXPECT_EQ(says(kHighBits | 04000), kEperm) << one.number;
      EXPECT_EQ(says(02755), writes_host ? kEperm : SECCOMP_RET_ALLOW) << one.number;
      if (one.flags < 0) continue;
      EXPECT_EQ(says(04755, O_RDONLY | O_DIRECTORY), SECCOMP_RET_ALLOW) << one.number;
      EXPECT_EQ(says(04755, O_TMPFILE | O_WRONLY), kEperm) << one.number;
    }
  }
}

TEST_P(SeccompFilter, PtraceAndIoctlAreJudgedByTheirArguments) {
  const Numbers& n = GetParam();
  EXPECT_EQ(answer(n.ptrace, PTRACE_TRACEME), SECCOMP_RET_ALLOW);
  EXPECT_EQ(answer(n.ptrace, PTRACE_ATTACH), kEperm);
  EXPECT_EQ(answer(n.ptrace, PTRACE_SEIZE), kEperm);
  EXPECT_EQ(answer(n.ioctl, 0, TIOCGWINSZ), SECCOMP_RET_ALLOW);
  EXPECT_EQ(answer(n.ioctl, 0, TIOCSTI), kEperm);
  constexpr uint64_t kHighBits = uint64_t{7} << 32U;  // the kernel takes the low half only
  EXPECT_EQ(answer(n.ioctl, 0, kHighBits | TIOCSTI), kEperm);
}

TEST_P(SeccompFilter, SocketsFollowTheOptions) {
  const int socket = GetParam().socket;
  EXPECT_EQ(answer(socket, AF_UNIX), SECCOMP_RET_ALLOW);
  EXPECT_EQ(answer(socket, AF_INET), SECCOMP_RET_ALLOW);
  for (const uint64_t family : {AF_VSOCK, AF_PACKET, AF_ALG}) {
    EXPECT_EQ(answer(socket, family), kNoFamily);
  }
  options.local_sockets = false;
  EXPECT_EQ(answer(socket, AF_UNIX), kNoFamily);
  EXPECT_EQ(answer(socket, AF_INET6), SECCOMP_RET_ALLOW);
  EXPECT_EQ(answer(GetParam().connect), SECCOMP_RET_ALLOW);
  EXPECT_EQ(answer(GetParam().socketpair, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC), SECCOMP_RET_ALLOW);
  EXPECT_EQ(answer(GetParam().socketpair, AF_UNIX, SOCK_DGRAM), kNoPair);
  options.internet_sockets = false;
  EXPECT_EQ(answer(socket, AF_INET), kNoFamily);
  EXPECT_EQ(answer(GetParam().connect), kEperm);
}

}  // namespace
}  // namespace galley
