#include "staging/sandbox/helper/copy_level.h"

#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <string>

#include "staging/sandbox/helper/descriptors.h"
#include "staging/sandbox/helper/pid_one.h"
#include "staging/sandbox/helper/usage.h"
#include "staging/sandbox/helper/walls.h"

// Without a PID namespace the monitor becomes the reaper of all descendants, so that none can
// escape by forking twice. It kills them repeatedly until none is left.

namespace galley {
namespace {

using std::chrono::milliseconds;
using SteadyClock = std::chrono::steady_clock;

/// The parent of each process on the machine.
std::map<pid_t, pid_t> all_parents() {
  std::map<pid_t, pid_t> parents;
  DIR* proc = opendir("/proc");
  if (proc == nullptr) return parents;
  while (const dirent* entry = readdir(proc)) {
    const auto pid = static_cast<pid_t>(std::atoi(entry->d_name));
    if (pid <= 0) continue;
    char text[512];
    const std::string path = std::string("/proc/") + entry->d_name + "/stat";
    const Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    const ssize_t got = read(file.get(), text, sizeof text - 1);
    if (got <= 0) continue;
    text[got] = '\0';
    const char* name_end = std::strrchr(text, ')');
    if (name_end == nullptr || std::strlen(name_end) < 4) continue;
    parents[pid] = static_cast<pid_t>(std::atoi(name_end + 4));  // ") S ppid"
  }
  closedir(proc);
  return parents;
}

/// Counts the existing threads of the user. Outside a namespace the limit counts them, too.
uint64_t threads_of(uid_t uid) {
  uint64_t count = 0;
  for (const auto& [pid, parent] : all_parents()) {
    const std::string path = "/proc/" + std::to_string(pid) + "/task";
    struct stat found {};
    if (stat(path.c_str(), &found) != 0 || found.st_uid != uid) continue;
    count += found.st_nlink > 2 ? found.st_nlink - 2 : 1;
  }
  return count;
}

std::set<pid_t> descendants() {
  const auto parents = all_parents();
  std::set<pid_t> family = {getpid()};
  for (bool grew = true; grew;) {
    grew = false;
    for (const auto& [pid, parent] : parents) {
      if (family.contains(parent) && family.insert(pid).second) grew = true;
    }
  }
  family.erase(getpid());
  return family;
}

void signal_descendants(int number) {
  for (const pid_t pid : descendants()) (void)kill(pid, number);
}

class CopyMonitor {
 public:
  CopyMonitor(const SandboxRequest& request, LayerGauge gauge, pid_t command, Fd notes)
      : request_(request), gauge_(std::move(gauge)), command_(command), notes_(std::move(notes)) {}

  HelperReport run() {
    if (request_.wall_ms != 0) deadline_ = started_ + milliseconds(request_.wall_ms);
    while (!is_over()) {
      wait_a_little();
      check_usage();
    }
    check_written_at_end();  // first: unlinked files disappear with their processes
    kill_everybody();
    check_written_at_end();  // again: no process can hide a directory now
    return report();
  }

 private:
  static constexpr int kLookMs = 5;

  [[nodiscard]] uint64_t ran_ms() const {
    return static_cast<uint64_t>(
        std::chrono::duration_cast<milliseconds>(SteadyClock::now() - started_).count());
  }

  void wait_a_little() {
    pollfd control{kControlFd, POLLIN, 0};
    if (poll(&control, 1, kLookMs) > 0) breach_ = HelperBreach::kCancelled;
    if (breach_ == HelperBreach::kNone && SteadyClock::now() >= deadline_) {
      breach_ = HelperBreach::kWall;
      limit_ = request_.wall_ms;
      figure_ = ran_ms();
      deadline_ = SteadyClock::now() + milliseconds(request_.grace_ms);
      if (request_.grace_ms != 0) signal_descendants(SIGTERM);
    }
    reap();
  }

  /// Measures with the user and group of the command for file access. The kernel shows the usage of
  /// a process to its own user, and to root only with CAP_SYS_PTRACE, which containers remove.
  [[nodiscard]] Usage measure_as_owner(const std::set<pid_t>& family) const {
    const bool is_root = geteuid() == 0;
    if (is_root) {
      (void)syscall(SYS_setfsgid, static_cast<gid_t>(request_.gid));
      (void)syscall(SYS_setfsuid, static_cast<uid_t>(request_.uid));
    }
    const Usage usage = measure_these(family, request_.memory_bytes);
    if (is_root) {
      (void)syscall(SYS_setfsuid, 0);
      (void)syscall(SYS_setfsgid, getegid());
    }
    return usage;
  }

  /// Sums the usage of the command's processes, including those that were waited for.
  void check_usage() {
    const auto before = SteadyClock::now();
    if (before < next_look_ || breach_ != HelperBreach::kNone || has_ended_) return;
    const std::set<pid_t> family = descendants();
    Usage usage = measure_as_owner(family);
    add_waited_for(usage);
    if (request_.written_bytes != 0) {
      usage.written_bytes += gauge_.grown(request_.written_bytes, &family);
    }
    usage_ = usage;
    const auto after = SteadyClock::now();
    constexpr int kLookShare = 10;  // measuring may take a tenth of the time
    next_look_ =
        after + std::max<SteadyClock::duration>(milliseconds(20), kLookShare * (after - before));
    const auto check = [this](HelperBreach kind, uint64_t limit, uint64_t figure, bool is_over) {
      if (limit == 0 || !is_over || breach_ != HelperBreach::kNone) return;
      breach_ = kind;
      limit_ = limit;
      figure_ = figure;
    };
    const uint64_t cpu_s = usage.cpu_ns / kNsPerSecond;
    check(HelperBreach::kCpu, request_.cpu_s, cpu_s, cpu_s >= request_.cpu_s);
    check(HelperBreach::kMemory, request_.memory_bytes, usage.memory_bytes,
          usage.memory_bytes > request_.memory_bytes);
    check(HelperBreach::kWritten, request_.written_bytes, usage.written_bytes,
          usage.written_bytes > request_.written_bytes);
  }

  /// The command may have ended between two measurements.
  void check_written_at_end() {
    if (breach_ != HelperBreach::kNone) return;
    Usage last;
    add_waited_for(last);
    const std::set<pid_t> family = descendants();
    last.written_bytes += gauge_.grown(0, &family);
    usage_.written_bytes = std::max(usage_.written_bytes, last.written_bytes);
    if (request_.written_bytes == 0 || usage_.written_bytes <= request_.written_bytes) return;
    breach_ = HelperBreach::kWritten;
    limit_ = request_.written_bytes;
    figure_ = usage_.written_bytes;
  }

  void reap() {
    int status = 0;
    for (pid_t ended = 0; (ended = waitpid(-1, &status, WNOHANG)) > 0;) {
      if (ended != command_) continue;
      wait_status_ = status;
      has_ended_ = true;
    }
  }

  [[nodiscard]] bool is_over() const {
    if (has_ended_) return true;
    if (breach_ == HelperBreach::kWall) return SteadyClock::now() >= deadline_;
    return breach_ != HelperBreach::kNone;
  }

  void kill_everybody() {
    constexpr int kMaxRounds = 10'000;
    for (int round = 0; round < kMaxRounds; ++round) {
      reap();
      const auto left = descendants();
      if (left.empty()) return;
      for (const pid_t pid : left) (void)kill(pid, SIGKILL);
      (void)poll(nullptr, 0, 1);
    }
  }

  HelperReport report() {
    HelperReport report;
    (void)fcntl(notes_.get(), F_SETFL, O_NONBLOCK);
    if (read(notes_.get(), &report, sizeof report) == sizeof report) return report;
    report.outcome = HelperOutcome::kEnded;
    report.wait_status = has_ended_ ? wait_status_ : SIGKILL;
    report.breach = breach_;
    report.limit = breach_ == HelperBreach::kCancelled ? 0 : limit_;
    report.figure = breach_ == HelperBreach::kCancelled ? ran_ms() : figure_;
    Usage last;
    add_waited_for(last);
    report.cpu_ns = std::max(last.cpu_ns, usage_.cpu_ns);
    report.peak_memory_bytes = std::max(last.peak_bytes, usage_.memory_bytes);
    report.written_bytes = std::max(last.written_bytes, usage_.written_bytes);
    return report;
  }

  const SandboxRequest& request_;
  LayerGauge gauge_;
  pid_t command_;
  Fd notes_;
  SteadyClock::time_point started_ = SteadyClock::now();
  SteadyClock::time_point deadline_ = SteadyClock::time_point::max();
  HelperBreach breach_ = HelperBreach::kNone;
  uint64_t limit_ = 0;
  uint64_t figure_ = 0;
  Usage usage_;  ///< at the last measurement
  SteadyClock::time_point next_look_ = started_;
  bool has_ended_ = false;
  int wait_status_ = 0;
};

[[noreturn]] void child_main(const SandboxRequest& request, int notes) {
  SetupFailure failure;
  const auto uid = static_cast<uid_t>(request.uid);
  const auto gid = static_cast<gid_t>(request.gid);
  if (geteuid() == 0 && (setgroups(0, nullptr) != 0 || setresgid(gid, gid, gid) != 0 ||
                         setresuid(uid, uid, uid) != 0)) {
    (void)failed(failure, "become an unprivileged user");
    const HelperReport report = report_of(HelperOutcome::kSetupFailed, failure);
    (void)!write(notes, &report, sizeof report);
    _exit(1);
  }
  SandboxRequest bounded = request;
  bounded.processes += threads_of(uid);
  become_command(bounded, notes);
}

}  // namespace

HelperReport run_on_copy(const SandboxRequest& request) {
  SetupFailure failure;
  if (landlock_abi() == 0) {
    // Without Landlock the command could write to the workspace itself.
    errno = EOPNOTSUPP;
    (void)failed(failure, "enter a Landlock domain");
    return report_of(HelperOutcome::kSetupFailed, failure);
  }
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0 || prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0) {
    (void)failed(failure, "watch over the command");
    return report_of(HelperOutcome::kSetupFailed, failure);
  }
  Fd notes_read(ends[0]);
  Fd notes_write(ends[1]);
  LayerGauge gauge;
  for (const std::string& place : {request.workspace, request.upper_home}) {
    gauge.watch(Fd(open(place.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)));
  }
  const pid_t command = fork();
  if (command == 0) child_main(request, notes_write.get());
  if (command < 0) {
    (void)failed(failure, "start the command");
    return report_of(HelperOutcome::kSetupFailed, failure);
  }
  notes_write = Fd();
  return CopyMonitor(request, std::move(gauge), command, std::move(notes_read)).run();
}

}  // namespace galley
