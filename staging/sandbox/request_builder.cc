#include "staging/sandbox/request_builder.h"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include <sys/wait.h>

#include "base/file_mode.h"
#include "staging/fs/disk_directory.h"
#include "staging/fs/host_file.h"
#include "staging/sandbox/egress_proxy.h"
#include "staging/sandbox/fixed_time.h"
#include "staging/sandbox/host_folders.h"
#include "staging/sandbox/resolve_program.h"

namespace galley {
namespace {

constexpr uint32_t kCommonUmask = 022;
constexpr size_t kMaxArgumentBytes = size_t{2} << 20U;  // roughly the kernel's own limit

/// The workspace must not be one of these paths of the view, or below one.
constexpr std::array<std::string_view, 6> kTaken = {"/proc", "/dev", "/sys",
                                                    "/etc",  "/bin", "/lib"};
/// The workspace must not be one of these paths, but may be below one.
constexpr std::array<std::string_view, 5> kTakenAlone = {"/", "/usr", "/opt", "/run", "/tmp"};

Error bad_command(const std::string& why) {
  return {ErrorKind::kInvalid, "sandbox.bad_command", "the command " + why, "", 0};
}

bool has_nul(std::string_view text) { return text.find('\0') != std::string_view::npos; }

Result<void> check_command(const Command& command) {
  if (command.argv.empty() || command.argv.front().empty()) {
    return fail(bad_command("is empty; give a program and its arguments"));
  }
  size_t bytes = 0;
  for (const std::string& word : command.argv) {
    if (has_nul(word)) return fail(bad_command("has a NUL byte in a word"));
    bytes += word.size() + 1;
  }
  for (const auto& [name, value] : command.environment) {
    if (name.empty() || name.find('=') != std::string::npos || has_nul(name) || has_nul(value)) {
      return fail(bad_command("names an impossible environment variable '" + name + "'"));
    }
    bytes += name.size() + value.size() + 2;
  }
  if (bytes > kMaxArgumentBytes) {
    return fail(bad_command(fmt::format("and its environment take {} bytes and {} are allowed",
                                        bytes, kMaxArgumentBytes)));
  }
  return {};
}

std::map<std::string, std::string> scrubbed_environment(const SandboxOptions& options,
                                                        const Command& command) {
  std::map<std::string, std::string> all;
  const auto take = [&](const std::string& name) {
    if (const char* value = std::getenv(name.c_str()); value != nullptr) all[name] = value;
  };
  for (const char* name : {"LANG", "LC_ALL", "LC_CTYPE", "TZ"}) take(name);
  for (const std::string& name : options.pass_environment) take(name);
  all.merge(toolchain_environment(options.readable));
  all["PATH"] = program_search_path(options.readable);
  all["HOME"] = "/tmp/home";
  all["TMPDIR"] = "/tmp";
  all["USER"] = all["LOGNAME"] = "galley";
  all["SHELL"] = "/bin/sh";
  all["TERM"] = "dumb";
  all["GALLEY_SANDBOX"] = "1";
  if (command.is_deterministic) {
    all.erase("LC_CTYPE");
    for (auto& [name, value] : deterministic_environment(fixed_time_library())) all[name] = value;
  }
  if (!command.hosts.empty() && !command.is_deterministic) {
    for (const auto& [name, value] : proxy_environment(command.hosts)) all[name] = value;
  }
  for (const auto& [name, value] : command.environment) all[name] = value;
  return all;
}

void add_host_network_files(SandboxRequest& request) {
  // It is often a link into /run, which is not in the view.
  char real[PATH_MAX];
  if (realpath("/etc/resolv.conf", real) == nullptr) return;
  if (!std::string_view(real).starts_with("/etc/")) request.system.emplace_back(real);
}

void set_limits(const CommandLimits& limits, SandboxRequest& request) {
  request.wall_ms = static_cast<uint64_t>(limits.wall.count());
  request.grace_ms = static_cast<uint64_t>(limits.grace.count());
  request.cpu_s = static_cast<uint64_t>(limits.cpu.count());
  request.memory_bytes = limits.max_memory_bytes;
  request.processes = limits.max_processes;
  request.file_bytes = limits.max_file_bytes;
  request.written_bytes = limits.max_written_bytes;
  request.open_files = limits.max_open_files;
  request.private_bytes = limits.max_private_bytes;
}

std::string remedy_for(std::string_view step, int code, const std::string& fallback) {
  if (step == "map the user ids" && geteuid() == 0) {
    return "root may not map user ids here: in a user namespace with too few ids, run galley "
           "outside of it or map your own user id in it (unshare --map-current-user); in a "
           "container, start it with other options (docs/sandbox.md); or " +
           fallback;
  }
  if (step == "make the namespaces" || step == "map the user ids" || step == "deny setgroups") {
    return "user namespaces are switched off here: set kernel.unprivileged_userns_clone=1, "
           "user.max_user_namespaces above 0 and (AppArmor) "
           "kernel.apparmor_restrict_unprivileged_userns=0 (in a container: start it with other "
           "options, docs/sandbox.md), or " +
           fallback;
  }
  if (step == "map the owners of the layers") {
    return "as root the sandbox needs idmapped mounts, which this file system does not have: run "
           "as an ordinary user, or move the workspace or TMPDIR to ext4, xfs, btrfs or tmpfs";
  }
  if (step == "mount overlayfs") {
    return "overlayfs cannot be mounted on these directories: set TMPDIR to a directory on ext4, "
           "xfs, btrfs or tmpfs, or load the overlay module";
  }
  if (step == "mount /proc") {
    return "the machine hides parts of /proc (a container?): " + fallback;
  }
  if (step.starts_with("enter ") && code == EACCES) {
    return "the command runs as another user, and that user must be able to pass through each "
           "folder above it: give them the mode bit x (chmod o+x), or set TMPDIR to another folder";
  }
  if (step.starts_with("keep ")) return "name directories in `keep`, through no link";
  if (code == ESTALE) return "the workspace was moved or replaced: open it again";
  return "see galley doctor";
}

std::optional<LimitKind> kind_of(HelperBreach breach) {
  switch (breach) {
    case HelperBreach::kNone:
      break;
    case HelperBreach::kWall:
      return LimitKind::kWall;
    case HelperBreach::kCpu:
      return LimitKind::kCpu;
    case HelperBreach::kMemory:
      return LimitKind::kMemory;
    case HelperBreach::kWritten:
      return LimitKind::kWritten;
    case HelperBreach::kCancelled:
    case HelperBreach::kStopped:
      return LimitKind::kCancelled;
  }
  return std::nullopt;
}

/// A shell reports the signal of its child as exit status 128 plus the number. A program may have
/// such a status, too: then it must have used most of what the limit allows.
bool ended_by(const CommandResult& result, int signal_number, uint64_t limit, uint64_t used) {
  constexpr int kShellBase = 128;
  if (result.exit_signal == signal_number) return true;
  return result.exit_code == kShellBase + signal_number && limit != 0 && used >= limit / 2;
}

bool has_temporary_files_in(const std::string& workspace) {
  const char* const given = std::getenv("TMPDIR");
  const auto real = absolute_path(given == nullptr ? "/" : given);
  return real && (*real + "/").starts_with(workspace + "/");
}

Error setup_error(const HelperReport& report, const SandboxRequest& request) {
  const std::string fallback =
      request.live != 0 ? "use galley exec, which can run on a copy (sandbox.fallback = \"copy\")"
                        : "allow the fallback sandbox.fallback = \"copy\"";
  const std::string step(report.step, strnlen(report.step, sizeof report.step));
  const bool overlaps = step == "mount overlayfs" && has_temporary_files_in(request.workspace);
  const std::string remedy = overlaps ? "TMPDIR is in the workspace: set it to a folder outside"
                                      : remedy_for(step, report.os_error, fallback);
  return {
      ErrorKind::kRefused, "sandbox.unavailable",
      fmt::format("the sandbox could not {}: {}; {}", step, std::strerror(report.os_error), remedy),
      "", report.os_error};
}

Error exec_error(const HelperReport& report, const SandboxRequest& request) {
  if (report.os_error == ENOENT || report.os_error == ENOTDIR) {
    const std::string real = real_program_path(request.program);
    const bool is_hidden = !request.program.starts_with(request.workspace + "/") &&
                           !is_in_view(real, request.readable) && access(real.c_str(), X_OK) == 0;
    if (is_hidden) {
      return {ErrorKind::kNotFound, "sandbox.program_not_found",
              "'" + request.argv.front() + "' was " + visibility_hint(request.program), "",
              report.os_error};
    }
    return {ErrorKind::kNotFound, "sandbox.program_not_found",
            "'" + request.program +
                "' does not exist in the proposed tree (or the interpreter it names does not)",
            "", report.os_error};
  }
  return {
      ErrorKind::kRefused, "sandbox.program_not_runnable",
      fmt::format("'{}' cannot be executed: {}", request.program, std::strerror(report.os_error)),
      "", report.os_error};
}

}  // namespace

Result<void> check_workspace_place(const std::string& workspace) {
  const auto is_at_or_below = [&](std::string_view taken) {
    return workspace == taken || workspace.starts_with(std::string(taken) + "/");
  };
  const bool is_taken =
      std::any_of(kTaken.begin(), kTaken.end(), is_at_or_below) ||
      std::find(kTakenAlone.begin(), kTakenAlone.end(), workspace) != kTakenAlone.end();
  if (!is_taken) return {};
  return fail(ErrorKind::kRefused, "sandbox.unavailable",
              "commands cannot be run in the workspace '" + workspace +
                  "', because the sandbox has something else at that path: use a workspace in "
                  "another folder");
}

Result<SandboxRequest> build_request(const SandboxOptions& options, const Command& command,
                                     const Directory& workspace) {
  GALLEY_TRY(check_command(command));
  GALLEY_TRY(check_workspace_place(options.workspace));
  GALLEY_ASSIGN(const FileStat root, workspace.stat(RelPath::root()));
  const auto environment = scrubbed_environment(options, command);
  GALLEY_ASSIGN(const ResolvedProgram program,
                resolve_program(command.argv.front(), environment.at("PATH"), options.workspace,
                                command.working_directory));
  if (command.is_deterministic) {
    GALLEY_TRY(check_fixed_clock(fixed_time_library(), program.real));
  }
  SandboxRequest request;
  request.program = program.path;
  request.argv = command.argv;
  for (const auto& [name, value] : environment) request.environment.push_back(name + "=" + value);
  request.workspace = options.workspace;
  struct stat identity {};
  if (fstat(workspace.descriptor(), &identity) != 0) {
    return os_error(errno, "cannot look at the workspace", options.workspace);
  }
  const EnteredLink entered = entered_link(options.workspace);
  if (!entered.link.empty() && check_workspace_place(entered.link)) {
    request.spelled = entered.link;
    request.spelled_folder = entered.folder;
  }
  request.workspace_device = identity.st_dev;
  request.workspace_inode = identity.st_ino;
  request.working_directory = options.workspace;
  if (!command.working_directory.is_root()) {
    request.working_directory += "/" + command.working_directory.str();
  }
  request.frozen = {options.workspace + "/.git", options.workspace + "/.sage"};
  request.system.assign(kSystemFolders.begin(), kSystemFolders.end());
  request.readable = options.readable;
  request.readable.insert(request.readable.end(), command.readable.begin(), command.readable.end());
  request.hidden = credentials_in(options.readable);
  if (!options.git_common.empty()) {
    // It is listed as writable so that its owners are mapped, and as frozen because it must not be
    // written.
    request.writable.push_back(options.git_common);
    request.frozen.push_back(options.git_common);
  }
  const bool is_root = geteuid() == 0;
  request.uid = is_root ? root.uid : geteuid();
  request.gid = is_root ? root.gid : getegid();
  // What a validator finds must not depend on the person who asks.
  const bool is_for_all = command.is_deterministic || command.effects == EffectsRule::kDrop;
  request.umask = is_for_all ? kCommonUmask : kPermissionBits & ~created_directory_mode();
  if (command.network == NetworkAccess::kHost && !command.is_deterministic) {
    request.host_network = 1;
    add_host_network_files(request);
  } else if (!command.hosts.empty() && !command.is_deterministic) {
    request.proxy = 1;
  }
  request.fixed_random = command.is_deterministic ? 1 : 0;
  request.has_input = command.input_relay != nullptr || !command.input.empty() ? 1 : 0;
  set_limits(command.limits.with_defaults(), request);
  request.restricts_programs = command.walls.is_restricted ? 1 : 0;
  request.programs = command.walls.allowed;
  request.covered = command.walls.denied;
  return request;
}

Result<CommandResult> result_of(const SandboxRequest& request, const Command& command,
                                HelperRun run) {
  const HelperReport& report = run.report;
  if (report.outcome == HelperOutcome::kSetupFailed) return fail(setup_error(report, request));
  if (report.outcome == HelperOutcome::kExecFailed) return fail(exec_error(report, request));
  CommandResult result;
  if (WIFEXITED(report.wait_status)) result.exit_code = WEXITSTATUS(report.wait_status);
  if (WIFSIGNALED(report.wait_status)) result.exit_signal = WTERMSIG(report.wait_status);
  if (const auto kind = kind_of(report.breach)) {
    result.breach = LimitBreach{*kind, report.limit, report.figure};
  } else if (ended_by(result, SIGXFSZ, request.file_bytes, report.written_bytes)) {
    result.breach = LimitBreach{LimitKind::kFileSize, request.file_bytes, request.file_bytes};
  } else if (ended_by(result, SIGXCPU, request.cpu_s * 1'000'000'000, report.cpu_ns)) {
    result.breach = LimitBreach{LimitKind::kCpu, request.cpu_s, request.cpu_s};
  }
  result.standard_output = std::move(run.standard_output);
  result.standard_error = std::move(run.standard_error);
  const bool is_copy = request.copy_level != 0;
  result.level = is_copy ? SandboxLevel::kCopy : SandboxLevel::kNamespaces;
  result.walls = is_copy ? "copy" : "namespaces, overlay";
  if (report.landlock_abi != 0) result.walls += fmt::format(", landlock {}", report.landlock_abi);
  result.walls += ", seccomp";
  result.restricts_programs = request.restricts_programs != 0 && report.landlock_abi != 0;
  result.unchecked = command.walls.unchecked;
  const bool is_open = request.restricts_programs != 0 && report.landlock_abi == 0;
  if (is_open)
    result.unchecked.emplace_back(
        "sandbox.allow and exec capabilities, because Landlock is missing");
  if (command.is_deterministic) {
    result.unchecked.emplace_back("the clock of static programs that it starts");
  }
  if (is_copy && !request.covered.empty()) {
    result.unchecked.emplace_back("sandbox.deny, on a copy of the tree");
  }
  result.lost = {report.left_processes, report.left_process, report.left_files,
                 report.left_file[0] == '\0'
                     ? std::string()
                     : (is_copy ? "$TMPDIR/" : "/tmp/") + std::string(report.left_file)};
  result.cpu = std::chrono::nanoseconds(report.cpu_ns);
  result.peak_memory_bytes = report.peak_memory_bytes;
  result.written_bytes = report.written_bytes;
  return result;
}

}  // namespace galley
