#include "staging/sandbox/helper/walls.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/openat2.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <string>
#include <vector>

#include "staging/sandbox/helper/programs.h"

namespace galley {
namespace {

// ---- Landlock: constants newer than Debian 12's headers (linux/landlock.h of 6.12) --------------
constexpr uint64_t kLandlockTruncate = uint64_t{1} << 14U;      // ABI 3
constexpr uint64_t kLandlockIoctlDevice = uint64_t{1} << 15U;   // ABI 5
constexpr uint64_t kLandlockScopeAbstract = uint64_t{1} << 0U;  // ABI 6
constexpr uint64_t kLandlockScopeSignal = uint64_t{1} << 1U;    // ABI 6

struct RulesetAttributes {
  uint64_t handled_access_fs;
  uint64_t handled_access_net;
  uint64_t scoped;
};

constexpr uint64_t kWriteAccess = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |
                                  LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_CHAR |
                                  LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |
                                  LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |
                                  LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM;

uint64_t write_access(uint32_t abi) {
  return kWriteAccess | (abi >= 2 ? LANDLOCK_ACCESS_FS_REFER : 0) |
         (abi >= 3 ? kLandlockTruncate : 0);
}

bool allow_below(int ruleset, const Fd& parent, uint64_t access) {
  if (!parent.is_open()) return false;
  landlock_path_beneath_attr rule{};
  rule.allowed_access = access;
  rule.parent_fd = parent.get();
  return syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0;
}

bool allow_below(int ruleset, const char* path, uint64_t access) {
  return allow_below(ruleset, Fd(open(path, O_PATH | O_CLOEXEC)), access);
}

/// What is not there cannot be executed either. A link of the workspace is not followed: the
/// command before this one may have made it, and it would open what it leads to.
void allow_programs(int ruleset, const SandboxRequest& request) {
  for (const std::string& path : executable_files(request)) {
    open_how how{};
    how.flags = O_PATH | O_CLOEXEC;
    if (path.starts_with(request.workspace + "/")) how.resolve = RESOLVE_NO_SYMLINKS;
    const Fd program(
        static_cast<int>(syscall(SYS_openat2, AT_FDCWD, path.c_str(), &how, sizeof how)));
    (void)allow_below(ruleset, program, LANDLOCK_ACCESS_FS_EXECUTE);
  }
}

// ---- seccomp: a classic BPF program (kernel documentation, seccomp_filter.rst) -----------
#if defined(__x86_64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_X86_64;
constexpr uint32_t kX32Bit = 0x40000000;
#elif defined(__aarch64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#else
#error "name this machine's audit architecture"
#endif

constexpr uint32_t kTioclinux = 0x541C;
constexpr uint32_t kNewNamespaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC |
                                    CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWTIME;

/// Fail with EPERM whatever their arguments.
constexpr long kDenied[] = {
    // mounts and other roots
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    SYS_move_mount,
    SYS_open_tree,
    SYS_fsopen,
    SYS_fsconfig,
    SYS_fsmount,
    SYS_fspick,
    SYS_mount_setattr,
    SYS_quotactl,
    SYS_quotactl_fd,
    SYS_swapon,
    SYS_swapoff,
    SYS_acct,
    SYS_open_by_handle_at,
    SYS_fanotify_init,
    // namespaces, other processes
    SYS_setns,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_kcmp,
    SYS_pidfd_getfd,
    SYS_process_madvise,
    SYS_migrate_pages,
    SYS_move_pages,
    // the kernel itself
    SYS_add_key,
    SYS_request_key,
    SYS_keyctl,
    SYS_bpf,
    SYS_userfaultfd,
    SYS_perf_event_open,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_kexec_load,
    SYS_kexec_file_load,
    SYS_reboot,
    SYS_syslog,
    SYS_settimeofday,
    SYS_clock_settime,
    SYS_clock_adjtime,
    SYS_adjtimex,
    SYS_sethostname,
    SYS_setdomainname,
    SYS_vhangup,
    SYS_lookup_dcookie,
    SYS_memfd_secret,
#if defined(__x86_64__)
    SYS_iopl,
    SYS_ioperm,
    SYS_uselib,
    SYS__sysctl,
    SYS_ustat,
    SYS_sysfs,
    SYS_modify_ldt,
#endif
};

/// Fail with ENOSYS, so that programs take the way they had before these existed.
constexpr long kMissing[] = {SYS_io_uring_setup, SYS_io_uring_enter, SYS_io_uring_register,
                             SYS_clone3};

class Filter;

/// What becomes of one system call: an action, or what a look at its arguments says.
struct CallRule {
  uint32_t number = 0;
  uint32_t action = 0;
  void (*look)(Filter&) = nullptr;  ///< answers, or lets the call be allowed
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
  /// Chooses by the system call's number, which must be in the accumulator: halves the sorted rules
  /// until few are left. The kernel runs the filter once for every number when it is installed, so
  /// that a linear list costs a quarter of a millisecond.
  void choose(const std::vector<CallRule>& rules, size_t begin, size_t end) {
    constexpr size_t kFew = 3;
    if (end - begin <= kFew) {
      for (size_t i = begin; i < end; ++i) for_call(rules[i]);
      answer(SECCOMP_RET_ALLOW);
      return;
    }
    const size_t middle = begin + (end - begin) / 2;
    // Conditional jumps reach 255 instructions, unconditional ones everywhere.
    add(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, rules[middle].number, 0, 1));
    add(BPF_STMT(BPF_JMP | BPF_JA, 0));
    const size_t jump = code_.size() - 1;
    choose(rules, begin, middle);
    code_[jump].k = static_cast<uint32_t>(code_.size() - jump - 1);
    choose(rules, middle, end);
  }
  [[nodiscard]] bool install() {
    sock_fprog program{static_cast<unsigned short>(code_.size()), code_.data()};
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0;
  }

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

/// Without a namespace or a view around them these lead to the host.
struct OpenFamilies {
  bool local = true;
  bool internet = true;
};

/// vsock, raw packets, the kernel's crypto …: families that no namespace holds are always shut.
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

/// Of a pair, each end speaks to the other only: but for datagrams, which can be sent to any name.
void look_at_socket_pair(Filter& filter) {
  constexpr uint32_t kTypeBits = 0xf;  // the others are flags
  filter.load_argument(1);
  filter.keep_bits(kTypeBits);
  filter.answer_if(SOCK_STREAM, SECCOMP_RET_ALLOW);
  filter.answer_if(SOCK_SEQPACKET, SECCOMP_RET_ALLOW);
  filter.answer(SECCOMP_RET_ERRNO | EOPNOTSUPP);
}

OpenFamilies open_families(const SandboxRequest& request) {
  constexpr uint32_t kScopesAbi = 6;
  const bool is_copy = request.copy_level != 0;
  const bool is_host_network = request.host_network != 0;
  // A view of its own has no sockets of the host in it; names that lie in the network namespace
  // are shut by Landlock, where it can.
  return {!is_copy && (!is_host_network || landlock_abi() >= kScopesAbi),
          !is_copy || is_host_network};
}

std::vector<CallRule> call_rules(const SandboxRequest& request) {
  const OpenFamilies open = open_families(request);
  std::vector<CallRule> rules;
  const auto add = [&rules](long number, uint32_t action, void (*look)(Filter&) = nullptr) {
    rules.push_back({static_cast<uint32_t>(number), action, look});
  };
  for (const long number : kDenied) add(number, kNo);
  for (const long number : kMissing) add(number, SECCOMP_RET_ERRNO | ENOSYS);
  // Landlock lets everybody execute a file that lies in no file system.
  if (request.restricts_programs != 0) add(SYS_memfd_create, SECCOMP_RET_ERRNO | ENOSYS);
  add(SYS_clone, kNo, look_at_namespaces);
  add(SYS_unshare, kNo, look_at_namespaces);
  add(SYS_ptrace, kNo, look_at_ptrace);
  add(SYS_ioctl, kNo, look_at_ioctl);
  if (open.local) {
    add(SYS_socket, kNo, look_at_socket<true, true>);
  } else {
    add(SYS_socket, kNo,
        open.internet ? look_at_socket<false, true> : look_at_socket<false, false>);
    add(SYS_socketpair, kNo, look_at_socket_pair);
    if (!open.internet) add(SYS_connect, kNo);  // pairs are connected already
  }
  std::sort(rules.begin(), rules.end(),
            [](const CallRule& a, const CallRule& b) { return a.number < b.number; });
  return rules;
}

bool limit(decltype(RLIMIT_CORE) resource, uint64_t value) {
  rlimit now{};
  if (getrlimit(resource, &now) != 0) return false;
  const rlim_t wanted = std::min<rlim_t>(value, now.rlim_max);
  const rlimit then{wanted, wanted};
  return setrlimit(resource, &then) == 0;
}

}  // namespace

bool apply_limits(const SandboxRequest& request, SetupFailure& failure) {
  constexpr uint64_t kQueueBytes = 819'200;  // the kernel's own default
  // One more process than asked for: pid 1 of the namespace counts too.
  bool done = limit(RLIMIT_CORE, 0) && limit(RLIMIT_MSGQUEUE, kQueueBytes) &&
              limit(RLIMIT_NOFILE, request.open_files) &&
              limit(RLIMIT_NPROC, request.processes + 1);
  if (request.file_bytes != 0) done = done && limit(RLIMIT_FSIZE, request.file_bytes);
  if (request.memory_bytes != 0) done = done && limit(RLIMIT_DATA, request.memory_bytes);
  if (request.cpu_s != 0) done = done && limit(RLIMIT_CPU, request.cpu_s + 1);
  return done || failed(failure, "set the resource limits");
}

bool drop_capabilities(SetupFailure& failure) {
  for (int capability = 0; capability <= 63; ++capability) {
    if (prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0) {
      if (errno == EINVAL) break;                   // past the last one this kernel knows
      if (errno == EPERM && geteuid() != 0) break;  // nothing to drop without CAP_SETPCAP
      return failed(failure, "drop the capability bounds");
    }
  }
  constexpr unsigned kBits = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
                             SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE |
                             SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;
  if (prctl(PR_SET_SECUREBITS, kBits, 0, 0, 0) != 0 && errno != EPERM) {
    return failed(failure, "lock the capability rules");
  }
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {};
  if (syscall(SYS_capset, &header, none) != 0) return failed(failure, "drop the capabilities");
  return true;
}

bool forbid_new_privileges(SetupFailure& failure) {
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 || failed(failure, "forbid new privileges");
}

uint32_t landlock_abi() {
  const long abi =
      syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  return abi > 0 ? static_cast<uint32_t>(abi) : 0;
}

bool apply_landlock(const SandboxRequest& request, SetupFailure& failure) {
  const uint32_t abi = landlock_abi();
  if (abi == 0) return true;
  RulesetAttributes attributes{};
  attributes.handled_access_fs = write_access(abi) | (abi >= 5 ? kLandlockIoctlDevice : 0);
  if (request.restricts_programs != 0) attributes.handled_access_fs |= LANDLOCK_ACCESS_FS_EXECUTE;
  if (abi >= 6) attributes.scoped = kLandlockScopeAbstract | kLandlockScopeSignal;
  const size_t size = abi >= 6   ? sizeof attributes
                      : abi >= 4 ? offsetof(RulesetAttributes, scoped)
                                 : offsetof(RulesetAttributes, handled_access_net);
  const Fd ruleset(static_cast<int>(syscall(SYS_landlock_create_ruleset, &attributes, size, 0)));
  if (!ruleset.is_open()) return failed(failure, "make a Landlock ruleset");
  if (request.restricts_programs != 0) allow_programs(ruleset.get(), request);
  const uint64_t all = write_access(abi);
  const uint64_t device = LANDLOCK_ACCESS_FS_WRITE_FILE | (abi >= 3 ? kLandlockTruncate : 0) |
                          (abi >= 5 ? kLandlockIoctlDevice : 0);
  bool done = allow_below(ruleset.get(), request.workspace.c_str(), all) &&
              allow_below(ruleset.get(), "/dev", device);
  // On the host's own tree there is no private /tmp: the home of the copy has one.
  const std::string scratch = request.copy_level != 0 ? request.upper_home : "/tmp";
  done = done && allow_below(ruleset.get(), scratch.c_str(), all);
  if (!done) return failed(failure, "add a Landlock rule");
  if (syscall(SYS_landlock_restrict_self, ruleset.get(), 0) != 0) {
    return failed(failure, "enter the Landlock domain");
  }
  return true;
}

bool apply_seccomp(const SandboxRequest& request, SetupFailure& failure) {
  Filter filter;
  filter.load(offsetof(seccomp_data, arch));
  filter.answer_unless(kArchitecture, SECCOMP_RET_KILL_PROCESS);
  filter.load_number();
#if defined(__x86_64__)
  filter.answer_if_any_bit(kX32Bit, SECCOMP_RET_ERRNO | ENOSYS);
#endif
  const std::vector<CallRule> rules = call_rules(request);
  filter.choose(rules, 0, rules.size());
  return filter.install() || failed(failure, "install the seccomp filter");
}

}  // namespace galley
