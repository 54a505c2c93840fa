#include "staging/sandbox/sandbox_probe.h"

#include <fmt/core.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/file_mode.h"
#include "staging/fs/disk_directory.h"
#include "staging/fs/host_file.h"
#include "staging/sandbox/layer_homes.h"
#include "staging/sandbox/request_builder.h"

namespace galley {
namespace {

using Item = SandboxProbe::Item;

std::string first_line(const char* directory, const char* name) {
  const auto opened = open_disk_directory(directory);
  const auto path = RelPath::parse(name);
  if (!opened || !path) return {};
  const auto file = (*opened)->open_file(*path);
  if (!file) return {};
  constexpr size_t kMost = 256;
  const auto text = (*file)->read_at(0, kMost);
  return text ? text->substr(0, text->find('\n')) : std::string();
}

Item kernel_item() {
  utsname name{};
  (void)uname(&name);
  return {"kernel", true, fmt::format("{} {}", name.sysname, name.release)};
}

Item user_namespaces_item() {
  const std::string most = first_line("/proc/sys/user", "max_user_namespaces");
  const std::string debian = first_line("/proc/sys/kernel", "unprivileged_userns_clone");
  const std::string apparmor =
      first_line("/proc/sys/kernel", "apparmor_restrict_unprivileged_userns");
  if (most == "0") return {"user namespaces", false, "set user.max_user_namespaces above 0"};
  if (geteuid() != 0 && debian == "0") {
    return {"user namespaces", false, "set kernel.unprivileged_userns_clone=1"};
  }
  if (geteuid() != 0 && apparmor == "1") {
    return {"user namespaces", false,
            "AppArmor restricts them: set kernel.apparmor_restrict_unprivileged_userns=0 or give "
            "galley-sandbox a profile"};
  }
  return {"user namespaces", !most.empty(), most.empty() ? "not in this kernel" : "up to " + most};
}

Item overlay_item() {
  const auto filesystems = open_disk_directory("/proc");
  const auto file = filesystems ? (*filesystems)->open_file(*RelPath::parse("filesystems"))
                                : Result<std::unique_ptr<File>>(filesystems.error());
  constexpr size_t kMost = 16384;
  const auto text = file ? (*file)->read_at(0, kMost) : Result<std::string>(file.error());
  const bool present = text && text->find("overlay") != std::string::npos;
  return {"overlayfs", present,
          present ? "known to the kernel" : "load the overlay module (modprobe overlay)"};
}

Item landlock_item() {
  const long abi =
      syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  if (abi > 0) return {"landlock", true, fmt::format("ABI {}", abi)};
  return {"landlock", false, "boot with lsm=landlock,… for the second layer of protection"};
}

Item seccomp_item() {
  const uint32_t action = SECCOMP_RET_ERRNO;
  const bool present = syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
  return {"seccomp", present, present ? "filters available" : "not in this kernel"};
}

Item openat2_item() {
  const bool present = has_openat2();
  return {"openat2", present,
          present ? "paths are resolved by the kernel" : "paths are walked component by component"};
}

Item layers_item(const SandboxOptions& options) {
  const auto home = LayerHome::open(options.layer_home);
  if (home) return {"layers", true, "can be in " + home->path().substr(0, home->path().rfind('/'))};
  return {"layers", false, home.error().message};
}

/// Runs `true` in the complete sandbox on an empty workspace.
Result<CommandResult> run_true(SandboxOptions options, const Clock& clock) {
  GALLEY_ASSIGN(const auto home, LayerHome::open("", LayerUse::kCopy));
  GALLEY_ASSIGN(const RelPath name, RelPath::parse("workspace"));
  GALLEY_TRY(home.directory().make_directory(name, kPrivateDirectory));
  options.workspace = home.path() + "/workspace";
  options.layer_home.clear();
  options.keep_home.clear();
  GALLEY_ASSIGN(const auto runner, make_sandbox(options, clock));
  GALLEY_ASSIGN(const auto workspace, open_disk_directory(options.workspace));
  Overlay overlay(*workspace, make_memory_store(), clock);
  Command command;
  command.argv = {"true"};
  command.effects = EffectsRule::kDrop;
  return runner->run(command, overlay);
}

constexpr uint64_t kMaxProcBytes = uint64_t{1} << 16U;
/// The helper's own process name (helper/main.cc); the kernel cuts names at 15 bytes.
constexpr std::string_view kHelperName = "galley-sandbox";
constexpr int kMaxAncestors = 4096;

/// Whether /proc/self/status has the line `name:\tvalue`.
bool has_status(const std::string& status, std::string_view name, std::string_view value) {
  return ("\n" + status).find("\n" + std::string(name) + ":\t" + std::string(value) + "\n") !=
         std::string::npos;
}

/// Whether a process below the helper could have this status.
bool is_walled(const std::string& status) {
  // 2: SECCOMP_MODE_FILTER.
  return has_status(status, "NoNewPrivs", "1") && has_status(status, "Seccomp", "2");
}

long parent_in(const std::string& status) {
  const size_t at = status.find("\nPPid:\t");
  return at == std::string::npos ? 0 : std::strtol(status.c_str() + at + 7, nullptr, 10);
}

/// Whether an ancestor has the helper's name. `all_walled`: only with walled processes in between.
bool is_below_helper(bool all_walled) {
  const auto own = read_host_file("/proc/self/status", kMaxProcBytes);
  if (!own || !is_walled(*own)) return false;
  long process = parent_in(*own);
  for (int i = 0; i < kMaxAncestors && process > 0; ++i) {
    const auto status =
        read_host_file("/proc/" + std::to_string(process) + "/status", kMaxProcBytes);
    if (!status) return false;
    if (has_status(*status, "Name", kHelperName)) return true;
    if (all_walled && !is_walled(*status)) return false;
    process = parent_in(*status);
  }
  return false;
}

/// Whether the kernel refuses to this process what the helper's filter refuses with any arguments
/// (helper/seccomp_filter.cc). Without the filter, the first three calls fail with EBADF, and the
/// last one reads nothing and succeeds.
bool has_own_filter() {
  const auto is_denied = [](long result) { return result == -1 && errno == EPERM; };
  return is_denied(syscall(SYS_setns, -1, 0)) && is_denied(syscall(SYS_pidfd_getfd, -1, -1, 0)) &&
         is_denied(syscall(SYS_process_madvise, -1, nullptr, 0, 0, 0)) &&
         is_denied(syscall(SYS_process_vm_readv, getpid(), nullptr, 0, nullptr, 0, 0));
}

SandboxProbe probe_machine(const SandboxOptions& options, const Clock& clock) {
  SandboxProbe probe;
  probe.items = {kernel_item(),  user_namespaces_item(), overlay_item(),      landlock_item(),
                 seccomp_item(), openat2_item(),         layers_item(options)};
  SandboxOptions strict = options;
  strict.allow_copy = strict.force_copy = false;
  const auto whole = run_true(strict, clock);
  if (whole && whole->succeeded()) {
    probe.level = SandboxLevel::kNamespaces;
    probe.items.push_back({"whole sandbox", true, whole->walls});
    probe.summary = "commands run in the full sandbox: " + whole->walls;
    return probe;
  }
  const std::string why = whole ? "`true` failed in it" : whole.error().message;
  probe.items.push_back({"whole sandbox", false, why});
  SandboxOptions weaker = options;
  weaker.force_copy = true;
  const auto copy = run_true(weaker, clock);
  if (copy && copy->succeeded()) {
    probe.items.push_back({"copy", true, copy->walls});
    if (options.allow_copy) probe.level = SandboxLevel::kCopy;
    probe.summary = options.allow_copy
                        ? "commands run on a copy of the tree: " + copy->walls
                        : "commands are refused; sandbox.fallback = \"copy\" would run them on a "
                          "copy of the tree: " +
                              copy->walls;
    return probe;
  }
  probe.items.push_back({"copy", false, copy ? "`true` failed on it" : copy.error().message});
  probe.summary = "commands are refused: " + why;
  return probe;
}

}  // namespace

SandboxProbe probe_sandbox(const SandboxOptions& options, const Clock& clock) {
  SandboxProbe probe = probe_machine(options, clock);
  if (const auto place = check_workspace_place(options.workspace); !place) {
    probe.level = SandboxLevel::kNone;
    probe.summary = "commands are refused: " + place.error().message;
  }
  return probe;
}

bool is_inside_sandbox() { return has_own_filter() && is_below_helper(true); }

bool may_be_inside_sandbox() { return is_below_helper(false); }

}  // namespace galley
