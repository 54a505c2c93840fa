#include "staging/sandbox/helper/seccomp_filter.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/falloc.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <utility>

namespace galley {
namespace {

// A classic BPF program (kernel documentation, seccomp_filter.rst).
constexpr uint32_t kX32Bit = 0x40000000;
constexpr uint32_t kTioclinux = 0x541C;
constexpr uint32_t kNewNamespaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC |
                                    CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWTIME;

/// One system call's numbers.
struct SystemCall {
  long x86_64;
  long aarch64;
  [[nodiscard]] long on(Machine machine) const {
    return machine == Machine::kX86_64 ? x86_64 : aarch64;
  }
};
constexpr long kNone = -1;

/// Does not compile if the number for the machine of this build is wrong.
consteval SystemCall call(long here, long x86_64, long aarch64) {
  if (here != (kOwnMachine == Machine::kX86_64 ? x86_64 : aarch64)) throw "wrong number";
  return {x86_64, aarch64};
}

/// These calls fail with EPERM, with any arguments.
constexpr SystemCall kDenied[] = {
    // mounts and other roots
    call(SYS_mount, 165, 40),
    call(SYS_umount2, 166, 39),
    call(SYS_pivot_root, 155, 41),
    call(SYS_chroot, 161, 51),
    call(SYS_move_mount, 429, 429),
    call(SYS_open_tree, 428, 428),
    call(SYS_fsopen, 430, 430),
    call(SYS_fsconfig, 431, 431),
    call(SYS_fsmount, 432, 432),
    call(SYS_fspick, 433, 433),
    call(SYS_mount_setattr, 442, 442),
    call(SYS_quotactl, 179, 60),
    call(SYS_quotactl_fd, 443, 443),
    call(SYS_swapon, 167, 224),
    call(SYS_swapoff, 168, 225),
    call(SYS_acct, 163, 89),
    call(SYS_open_by_handle_at, 304, 265),
    call(SYS_fanotify_init, 300, 262),
    // namespaces, other processes
    call(SYS_setns, 308, 268),
    call(SYS_process_vm_readv, 310, 270),
    call(SYS_process_vm_writev, 311, 271),
    call(SYS_kcmp, 312, 272),
    call(SYS_pidfd_getfd, 438, 438),
    call(SYS_process_madvise, 440, 440),
    call(SYS_migrate_pages, 256, 238),
    call(SYS_move_pages, 279, 239),
    // the kernel itself
    call(SYS_add_key, 248, 217),
    call(SYS_request_key, 249, 218),
    call(SYS_keyctl, 250, 219),
    call(SYS_bpf, 321, 280),
    call(SYS_userfaultfd, 323, 282),
    call(SYS_perf_event_open, 298, 241),
    call(SYS_init_module, 175, 105),
    call(SYS_finit_module, 313, 273),
    call(SYS_delete_module, 176, 106),
    call(SYS_kexec_load, 246, 104),
    call(SYS_kexec_file_load, 320, 294),
    call(SYS_reboot, 169, 142),
    call(SYS_syslog, 103, 116),
    call(SYS_settimeofday, 164, 170),
    call(SYS_clock_settime, 227, 112),
    call(SYS_clock_adjtime, 305, 266),
    call(SYS_adjtimex, 159, 171),
    call(SYS_sethostname, 170, 161),
    call(SYS_setdomainname, 171, 162),
    call(SYS_vhangup, 153, 58),
    call(SYS_lookup_dcookie, 212, 18),
    call(SYS_memfd_secret, 447, 447),
    // of x86-64 only: iopl, ioperm, uselib, _sysctl, ustat, sysfs, modify_ldt
    {172, kNone},
    {173, kNone},
    {134, kNone},
    {156, kNone},
    {136, kNone},
    {139, kNone},
    {154, kNone},
};

#if defined(__x86_64__)
static_assert(SYS_iopl == 172 && SYS_ioperm == 173 && SYS_uselib == 134 && SYS__sysctl == 156 &&
              SYS_ustat == 136 && SYS_sysfs == 139 && SYS_modify_ldt == 154);
#endif

/// These calls fail with ENOSYS, so that programs use the older calls instead.
constexpr SystemCall kMissing[] = {
    call(SYS_io_uring_setup, 425, 425),
    call(SYS_io_uring_enter, 426, 426),
    call(SYS_io_uring_register, 427, 427),
    call(SYS_clone3, 435, 435),
    // Its mode is behind a pointer, which a filter cannot read.
    call(SYS_openat2, 437, 437),
};

// The calls that set the mode of a file. mkdir and mkdirat set neither bit (mkdir(2)).
constexpr SystemCall kChmod = {90, kNone};
constexpr SystemCall kFchmod = call(SYS_fchmod, 91, 52);
constexpr SystemCall kFchmodat = call(SYS_fchmodat, 268, 53);
constexpr SystemCall kFchmodat2 = {452, 452};  // newer than Debian 12's headers
constexpr SystemCall kOpen = {2, kNone};
constexpr SystemCall kOpenat = call(SYS_openat, 257, 56);
constexpr SystemCall kCreat = {85, kNone};
constexpr SystemCall kMknod = {133, kNone};
constexpr SystemCall kMknodat = call(SYS_mknodat, 259, 33);

#if defined(__x86_64__)
static_assert(SYS_chmod == 90 && SYS_open == 2 && SYS_creat == 85 && SYS_mknod == 133);
#endif

constexpr SystemCall kFallocate = call(SYS_fallocate, 285, 47);
constexpr SystemCall kMemfdCreate = call(SYS_memfd_create, 319, 279);
constexpr SystemCall kGetRandom = call(SYS_getrandom, 318, 278);
constexpr SystemCall kClone = call(SYS_clone, 56, 220);
constexpr SystemCall kUnshare = call(SYS_unshare, 272, 97);
constexpr SystemCall kPtrace = call(SYS_ptrace, 101, 117);
constexpr SystemCall kIoControl = call(SYS_ioctl, 16, 29);
constexpr SystemCall kSocket = call(SYS_socket, 41, 198);
constexpr SystemCall kSocketPair = call(SYS_socketpair, 53, 199);
constexpr SystemCall kConnect = call(SYS_connect, 42, 203);

class Filter;

/// The rule for one system call: an action, or a function that checks its arguments.
struct CallRule {
  uint32_t number = 0;
  uint32_t action = 0;
  void (*look)(Filter&) = nullptr;  ///< decides, or lets the call be allowed
};

class Filter {
 public:
  void load(size_t offset) {
    add(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<uint32_t>(offset)));
  }
  void load_number() { load(offsetof(seccomp_data, nr)); }
  /// Low half of an argument (both architectures are little-endian).
  void load_argument(size_t index) {
    load(offsetof(seccomp_data, args) + index * sizeof(uint64_t));
  }
  void keep_bits(uint32_t bits) { add(BPF_STMT(BPF_ALU | BPF_AND | BPF_K, bits)); }
  void answer(uint32_t action) { add(BPF_STMT(BPF_RET | BPF_K, action)); }
  void answer_if(uint32_t value, uint32_t action) {
    add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1));
    answer(action);
  }
  void answer_unless(uint32_t value, uint32_t action) {
    add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 1, 0));
    answer(action);
  }
  void answer_if_any_bit(uint32_t bits, uint32_t action) {
    add(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, 0, 1));
    answer(action);
  }
  void answer_if_no_bit(uint32_t bits, uint32_t action) {
    add(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, 1, 0));
    answer(action);
  }
  /// Selects the rule by the system call's number, which must be in the accumulator: halves the
  /// sorted rules until few are left. The kernel runs the filter once for every number when it is
  /// installed, so a linear list would cost a quarter of a millisecond.
  void choose(const std::vector<CallRule>& rules, size_t begin, size_t end) {
    constexpr size_t kFew = 3;
    if (end - begin <= kFew) {
      for (size_t i = begin; i < end; ++i) for_call(rules[i]);
      answer(SECCOMP_RET_ALLOW);
      return;
    }
    const size_t middle = begin + (end - begin) / 2;
    // Conditional jumps reach 255 instructions, unconditional ones any distance.
    add(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, rules[middle].number, 0, 1));
    add(BPF_STMT(BPF_JMP | BPF_JA, 0));
    const size_t jump = code_.size() - 1;
    choose(rules, begin, middle);
    code_[jump].k = static_cast<uint32_t>(code_.size() - jump - 1);
    choose(rules, middle, end);
  }
  [[nodiscard]] std::vector<sock_filter> take() { return std::move(code_); }

 private:
  void for_call(const CallRule& rule) {
    add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, rule.number, 0, 0));
    const size_t jump = code_.size() - 1;
    if (rule.look == nullptr) {
      answer(rule.action);
    } else {
      rule.look(*this);
      answer(SECCOMP_RET_ALLOW);
    }
    code_[jump].jf = static_cast<uint8_t>(code_.size() - jump - 1);
  }
  void add(sock_filter instruction) { code_.push_back(instruction); }
  std::vector<sock_filter> code_;
};

constexpr uint32_t kNo = SECCOMP_RET_ERRNO | EPERM;

void look_at_namespaces(Filter& filter) {
  filter.load_argument(0);
  filter.answer_if_any_bit(kNewNamespaces, kNo);
}

void look_at_ptrace(Filter& filter) {
  filter.load_argument(0);
  filter.answer_if(PTRACE_ATTACH, kNo);
  filter.answer_if(PTRACE_SEIZE, kNo);
}

void look_at_ioctl(Filter& filter) {
  filter.load_argument(1);
  filter.answer_if(TIOCSTI, kNo);
  filter.answer_if(kTioclinux, kNo);
  filter.answer_if(TIOCSETD, kNo);
}

/// A file that grows without being written is counted by no limit. Programs then write instead.
/// Holes may be punched.
void look_at_fallocate(Filter& filter) {
  filter.load_argument(1);
  filter.answer_if_no_bit(FALLOC_FL_PUNCH_HOLE, SECCOMP_RET_ERRNO | EOPNOTSUPP);
}

/// Families that no namespace isolates (vsock, raw packets, the kernel's crypto …) are always
/// refused.
template <bool kLocal, bool kInternet>
void look_at_socket(Filter& filter) {
  filter.load_argument(0);
  if (kLocal) filter.answer_if(AF_UNIX, SECCOMP_RET_ALLOW);
  if (kInternet) {
    for (const uint32_t family : {AF_INET, AF_INET6, AF_NETLINK}) {
      filter.answer_if(family, SECCOMP_RET_ALLOW);
    }
  }
  filter.answer(SECCOMP_RET_ERRNO | EAFNOSUPPORT);
}

/// In a socket pair each end reaches only the other end. Datagram sockets are an exception: they
/// can send to any name.
void look_at_socket_pair(Filter& filter) {
  constexpr uint32_t kTypeBits = 0xf;  // the others are flags
  filter.load_argument(1);
  filter.keep_bits(kTypeBits);
  filter.answer_if(SOCK_STREAM, SECCOMP_RET_ALLOW);
  filter.answer_if(SOCK_SEQPACKET, SECCOMP_RET_ALLOW);
  filter.answer(SECCOMP_RET_ERRNO | EOPNOTSUPP);
}

constexpr uint32_t kSetuid = S_ISUID;
constexpr uint32_t kSetuidOrSetgid = S_ISUID | S_ISGID;

template <size_t kMode, uint32_t kBits>
void look_at_mode(Filter& filter) {
  filter.load_argument(kMode);
  filter.answer_if_any_bit(kBits, kNo);
}

/// If the call makes no file, the mode is an undefined register value.
template <size_t kFlags, uint32_t kBits>
void look_at_new_mode(Filter& filter) {
  constexpr uint32_t kUnnamed = O_TMPFILE & ~O_DIRECTORY;
  filter.load_argument(kFlags);
  filter.answer_if_no_bit(O_CREAT | kUnnamed, SECCOMP_RET_ALLOW);
  look_at_mode<kFlags + 1, kBits>(filter);
}

/// Other users cannot enter a command's private layers and folders, and a proposal never has these
/// bits. In a folder of the host, every user could run such a file with the rights of the user who
/// started the command. If no folder of the host can be written, a directory may keep its setgid
/// bit, because `cp -p` and similar programs copy it.
template <uint32_t kBits, class Add>
void add_mode_rules(Add add) {
  add(kChmod, kNo, look_at_mode<1, kBits>);
  add(kFchmod, kNo, look_at_mode<1, kBits>);
  add(kFchmodat, kNo, look_at_mode<2, kBits>);
  add(kFchmodat2, kNo, look_at_mode<2, kBits>);
  add(kCreat, kNo, look_at_mode<1, kBits>);
  add(kMknod, kNo, look_at_mode<1, kBits>);
  add(kMknodat, kNo, look_at_mode<2, kBits>);
  add(kOpen, kNo, look_at_new_mode<1, kBits>);
  add(kOpenat, kNo, look_at_new_mode<2, kBits>);
}

std::vector<CallRule> call_rules(Machine machine, const SeccompOptions& options) {
  std::vector<CallRule> rules;
  const auto add = [&](const SystemCall& call, uint32_t action, void (*look)(Filter&) = nullptr) {
    if (call.on(machine) == kNone) return;
    rules.push_back({static_cast<uint32_t>(call.on(machine)), action, look});
  };
  for (const SystemCall& call : kDenied) add(call, kNo);
  for (const SystemCall& call : kMissing) add(call, SECCOMP_RET_ERRNO | ENOSYS);
  // Landlock permits the execution of a file that is in no file system.
  if (options.restricts_programs) add(kMemfdCreate, SECCOMP_RET_ERRNO | ENOSYS);
  if (options.fixed_random) add(kGetRandom, SECCOMP_RET_ERRNO | ENOSYS);
  add(kClone, kNo, look_at_namespaces);
  add(kUnshare, kNo, look_at_namespaces);
  add(kPtrace, kNo, look_at_ptrace);
  add(kIoControl, kNo, look_at_ioctl);
  if (options.limits_files) add(kFallocate, kNo, look_at_fallocate);
  if (options.writes_host) {
    add_mode_rules<kSetuidOrSetgid>(add);
  } else {
    add_mode_rules<kSetuid>(add);
  }
  if (options.local_sockets) {
    add(kSocket, kNo, look_at_socket<true, true>);
  } else {
    add(kSocket, kNo,
        options.internet_sockets ? look_at_socket<false, true> : look_at_socket<false, false>);
    add(kSocketPair, kNo, look_at_socket_pair);
    if (!options.internet_sockets) add(kConnect, kNo);  // pairs are connected already
  }
  std::sort(rules.begin(), rules.end(),
            [](const CallRule& a, const CallRule& b) { return a.number < b.number; });
  return rules;
}

}  // namespace

std::vector<sock_filter> seccomp_filter(Machine machine, const SeccompOptions& options) {
  const bool is_x86_64 = machine == Machine::kX86_64;
  Filter filter;
  filter.load(offsetof(seccomp_data, arch));
  filter.answer_unless(is_x86_64 ? AUDIT_ARCH_X86_64 : AUDIT_ARCH_AARCH64,
                       SECCOMP_RET_KILL_PROCESS);
  filter.load_number();
  if (is_x86_64) filter.answer_if_any_bit(kX32Bit, SECCOMP_RET_ERRNO | ENOSYS);
  const std::vector<CallRule> rules = call_rules(machine, options);
  filter.choose(rules, 0, rules.size());
  return filter.take();
}

}  // namespace galley
