#include "staging/sandbox/helper/walls.h"

#include <elf.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstring>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "staging/sandbox/helper/descriptors.h"
#include "staging/sandbox/helper/request.h"
#include "staging/sandbox/helper/seccomp_filter.h"

namespace galley {
namespace {

constexpr size_t kHeadBytes = 4096;
constexpr int kMaxInterpreters = 5;  // the kernel's own limit (fs/exec.c)
constexpr int kMaxSegments = 64;

std::string_view take_word(std::string_view& line) {
  constexpr const char* kBlank = " \t";
  line.remove_prefix(std::min(line.find_first_not_of(kBlank), line.size()));
  const std::string_view word = line.substr(0, std::min(line.find_first_of(kBlank), line.size()));
  line.remove_prefix(word.size());
  return word;
}

std::string find_on_path(const SandboxRequest& request, std::string_view name) {
  constexpr std::string_view kPath = "PATH=";
  for (const std::string& variable : request.environment) {
    if (!variable.starts_with(kPath)) continue;
    std::string_view path = std::string_view(variable).substr(kPath.size());
    while (!path.empty()) {
      const size_t end = std::min(path.find(':'), path.size());
      const std::string file = std::string(path.substr(0, end)) + "/" + std::string(name);
      if (access(file.c_str(), X_OK) == 0) return file;
      path.remove_prefix(std::min(end + 1, path.size()));
    }
  }
  return {};
}

/// `#!/usr/bin/env -S python3 -u`: the interpreter, and the program that env would start.
std::vector<std::string> of_first_line(const SandboxRequest& request, std::string_view line) {
  std::vector<std::string> found;
  const std::string_view interpreter = take_word(line);
  if (!interpreter.starts_with('/')) return found;
  found.emplace_back(interpreter);
  if (!interpreter.ends_with("/env")) return found;
  std::string_view word = take_word(line);
  while (word.starts_with('-') || word.find('=') != word.npos) word = take_word(line);
  const std::string program = word.empty() ? std::string() : find_on_path(request, word);
  if (!program.empty()) found.push_back(program);
  return found;
}

/// The PT_INTERP segment (elf(5)), for the class of this program, which is the kernel's.
std::string loader_of(int file, std::string_view head) {
  Elf64_Ehdr header{};
  if (head.size() < sizeof header) return {};
  std::memcpy(&header, head.data(), sizeof header);
  const int count = std::min<int>(header.e_phnum, kMaxSegments);
  for (int i = 0; i < count; ++i) {
    Elf64_Phdr segment{};
    const auto at = static_cast<off_t>(header.e_phoff + static_cast<uint64_t>(i) * sizeof segment);
    if (pread(file, &segment, sizeof segment, at) != static_cast<ssize_t>(sizeof segment)) break;
    if (segment.p_type != PT_INTERP) continue;
    std::array<char, PATH_MAX> name{};
    const size_t size = std::min<size_t>(segment.p_filesz, name.size() - 1);
    if (pread(file, name.data(), size, static_cast<off_t>(segment.p_offset)) <= 0) break;
    return name.data();
  }
  return {};
}

std::vector<std::string> needs_of(const SandboxRequest& request, const std::string& path) {
  const Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  std::array<char, kHeadBytes> bytes{};
  const ssize_t got = file.is_open() ? read(file.get(), bytes.data(), bytes.size()) : 0;
  if (got <= 0) return {};
  const std::string_view head(bytes.data(), static_cast<size_t>(got));
  if (head.starts_with("#!")) return of_first_line(request, head.substr(2, head.find('\n') - 2));
  if (!head.starts_with(ELFMAG) || head.size() < EI_NIDENT || head[EI_CLASS] != ELFCLASS64) {
    return {};
  }
  const std::string loader = loader_of(file.get(), head);
  return loader.empty() ? std::vector<std::string>() : std::vector<std::string>{loader};
}

/// Returns the files that must be executable for the request's programs to start. These are the
/// programs, the interpreters in their first lines, and the dynamic loaders of all of these. After
/// `env`, it adds the program that `env` finds. Directories, which end in `/`, are returned
/// unchanged.
std::set<std::string> executable_files(const SandboxRequest& request) {
  std::set<std::string> all(request.programs.begin(), request.programs.end());
  all.insert(request.program);
  std::vector<std::string> fresh(all.begin(), all.end());
  for (int depth = 0; depth < kMaxInterpreters && !fresh.empty(); ++depth) {
    std::vector<std::string> needed;
    for (const std::string& path : fresh) {
      if (path.ends_with('/')) continue;
      for (std::string& need : needs_of(request, path)) {
        if (all.insert(need).second) needed.push_back(std::move(need));
      }
    }
    fresh = std::move(needed);
  }
  return all;
}

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

/// A missing path is skipped, because it cannot be executed. A link of the workspace is not
/// followed: an earlier command may have made it, and its target would become executable.
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
  // One more process than asked for: pid 1 of the namespace counts, too.
  bool done = limit(RLIMIT_CORE, 0) && limit(RLIMIT_MSGQUEUE, kQueueBytes) &&
              limit(RLIMIT_NOFILE, request.open_files) &&
              limit(RLIMIT_NPROC, request.processes + 1);
  // One byte more than allowed, which shows that a file was cut off there.
  if (request.file_bytes != 0) done = done && limit(RLIMIT_FSIZE, request.file_bytes + 1);
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
  // The copy level lacks a private /tmp. The home of the copy has TMPDIR.
  const std::string scratch = request.copy_level != 0 ? request.upper_home : "/tmp";
  done = done && allow_below(ruleset.get(), scratch.c_str(), all);
  if (!request.home.empty()) done = done && allow_below(ruleset.get(), request.home.c_str(), all);
  for (const auto* places : {&request.writable, &request.layered}) {
    for (const std::string& place : *places) {
      done = done && allow_below(ruleset.get(), place.c_str(), all);
    }
  }
  if (!done) return failed(failure, "add a Landlock rule");
  if (syscall(SYS_landlock_restrict_self, ruleset.get(), 0) != 0) {
    return failed(failure, "enter the Landlock domain");
  }
  return true;
}

bool apply_seccomp(const SandboxRequest& request, SetupFailure& failure) {
  constexpr uint32_t kScopesAbi = 6;
  const bool is_copy = request.copy_level != 0;
  const bool is_host_network = request.host_network != 0;
  SeccompOptions options;
  options.restricts_programs = request.restricts_programs != 0;
  options.limits_files = request.file_bytes != 0 || request.written_bytes != 0;
  options.fixed_random = request.fixed_random != 0;
  // In a private view, no socket of the host is visible. In the network of the host, Landlock must
  // block the abstract names of sockets.
  options.local_sockets = !is_copy && (!is_host_network || landlock_abi() >= kScopesAbi);
  options.internet_sockets = !is_copy || is_host_network;
  options.writes_host =
      std::any_of(request.writable.begin(), request.writable.end(), [&](const std::string& place) {
        return std::find(request.frozen.begin(), request.frozen.end(), place) ==
               request.frozen.end();
      });
  std::vector<sock_filter> code = seccomp_filter(kOwnMachine, options);
  sock_fprog program{static_cast<unsigned short>(code.size()), code.data()};
  return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0 ||
         failed(failure, "install the seccomp filter");
}

}  // namespace galley
