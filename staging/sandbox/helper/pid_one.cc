#include "staging/sandbox/helper/pid_one.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <net/if.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "staging/sandbox/helper/descriptors.h"
#include "staging/sandbox/helper/walls.h"

//            start command                    wall, cpu, memory, written
//   [setup] ---------------> [running] ---------------------------------> [stopping]
//                              |  command ended                              |  all gone, or
//                              v                                             v  grace over
//                            _exit <------------------------------------- _exit
//
// When pid 1 exits, the kernel kills every process of the namespace.

namespace galley {
namespace {

using SteadyClock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kFirstLook{5};
constexpr milliseconds kLookInterval{20};
constexpr int kLookShare = 10;  // measuring may take a tenth of the time

std::vector<char*> pointers(const std::vector<std::string>& strings) {
  std::vector<char*> out;
  out.reserve(strings.size() + 1);
  for (const std::string& text : strings) out.push_back(const_cast<char*>(text.c_str()));
  out.push_back(nullptr);
  return out;
}

[[noreturn]] void report_and_exit(int notes, HelperOutcome outcome, const SetupFailure& failure) {
  const HelperReport report = report_of(outcome, failure);
  (void)!write(notes, &report, sizeof report);
  _exit(1);
}

class PidOne {
 public:
  PidOne(const SandboxRequest& request, LayerGauge gauge, Fd home, int notes, int lifeline)
      : request_(request),
        gauge_(std::move(gauge)),
        home_(std::move(home)),
        notes_(notes),
        lifeline_(lifeline),
        started_(SteadyClock::now()) {}

  [[noreturn]] void run(pid_t command) {
    command_ = command;
    sigset_t children;
    sigemptyset(&children);
    sigaddset(&children, SIGCHLD);
    signals_ = signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK);
    if (watches_usage()) next_look_ = started_ + kFirstLook;
    if (request_.wall_ms != 0) wall_ends_ = started_ + milliseconds(request_.wall_ms);
    for (;;) {
      wait_for_something();
      reap();
      check_wall();
      check_usage();
    }
  }

 private:
  [[nodiscard]] bool watches_usage() const {
    return request_.cpu_s != 0 || request_.memory_bytes != 0 || request_.written_bytes != 0;
  }

  void wait_for_something() {
    pollfd polled[2] = {{signals_, POLLIN, 0}, {lifeline_, POLLIN, 0}};
    const auto next = std::min({wall_ends_, next_look_, grace_ends_});
    int timeout = -1;
    if (next != SteadyClock::time_point::max()) {
      const auto left = std::chrono::ceil<milliseconds>(next - SteadyClock::now());
      constexpr milliseconds kLongest{3'600'000};
      timeout = static_cast<int>(std::clamp(left, milliseconds(0), kLongest).count());
    }
    (void)poll(polled, 2, timeout);
    if (polled[1].revents != 0) heed_monitor();
    signalfd_siginfo info;
    while (read(signals_, &info, sizeof info) > 0) {
    }
  }

  /// The monitor is gone, or relays a request.
  void heed_monitor() {
    char byte = 0;
    const bool is_there = read(lifeline_, &byte, 1) == 1;
    if (is_there && byte == kRefreshByte) return refresh();
    if (!is_there || byte != kStopByte) _exit(1);
    if (!stopping_) stop(HelperBreach::kStopped, request_.grace_ms, 0);
  }

  /// overlayfs goes on showing a file that was replaced below it. Each reconfiguration makes the
  /// kernel forget the names that are not in use (fs/super.c, reconfigure_super).
  void refresh() {
    constexpr const char* kNew = "refreshed.new";
    constexpr mode_t kPrivate = 0600;
    const Fd stamp(
        openat(home_.get(), kNew, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, kPrivate));
    if (!stamp.is_open() || ftruncate(stamp.get(), 0) != 0) return;  // that sets its time
    const Fd view(fspick(AT_FDCWD, request_.workspace.c_str(), FSPICK_CLOEXEC));
    if (!view.is_open()) return;
    if (fsconfig(view.get(), FSCONFIG_CMD_RECONFIGURE, nullptr, nullptr, 0) != 0) return;
    (void)renameat(home_.get(), kNew, home_.get(), kRefreshed);
  }

  void reap() {
    for (;;) {
      int status = 0;
      const pid_t ended = waitpid(-1, &status, WNOHANG | (request_.terminal != 0 ? WUNTRACED : 0));
      if (ended > 0 && WIFSTOPPED(status)) {
        // Agents stop themselves at ctrl-z, and no shell is here that could continue them. The
        // command leads its process group.
        if (ended == command_) (void)kill(-command_, SIGCONT);
        continue;
      }
      if (ended == command_) {
        report_.wait_status = status;
        command_ended_ = true;
        if (!stopping_) finish();
      }
      if (ended < 0 && stopping_) finish();  // ECHILD: no process is left
      if (ended <= 0) return;
    }
  }

  void check_wall() {
    const auto now = SteadyClock::now();
    if (stopping_ && now >= grace_ends_) finish();
    if (!stopping_ && now >= wall_ends_) {
      const auto ran = std::chrono::duration_cast<milliseconds>(now - started_).count();
      stop(HelperBreach::kWall, request_.wall_ms, static_cast<uint64_t>(ran));
    }
  }

  void check_usage() {
    const auto before = SteadyClock::now();
    if (before < next_look_) return;
    Usage usage = measure_all(request_.memory_bytes);
    add_waited_for(usage);
    if (request_.written_bytes != 0) {
      usage.written_bytes += gauge_.grown(request_.written_bytes, nullptr);
    }
    note_peaks(usage);
    const auto after = SteadyClock::now();
    next_look_ =
        after + std::max<SteadyClock::duration>(kLookInterval, kLookShare * (after - before));
    if (stopping_) return;
    const uint64_t cpu_s = usage.cpu_ns / kNsPerSecond;
    if (request_.cpu_s != 0 && cpu_s >= request_.cpu_s) {
      stop(HelperBreach::kCpu, request_.cpu_s, cpu_s);
    } else if (request_.memory_bytes != 0 && usage.memory_bytes > request_.memory_bytes) {
      stop(HelperBreach::kMemory, request_.memory_bytes, usage.memory_bytes);
    } else if (request_.written_bytes != 0 && usage.written_bytes > request_.written_bytes) {
      stop(HelperBreach::kWritten, request_.written_bytes, usage.written_bytes);
    }
  }

  void note_peaks(const Usage& usage) {
    report_.cpu_ns = std::max(report_.cpu_ns, usage.cpu_ns);
    report_.peak_memory_bytes =
        std::max({report_.peak_memory_bytes, usage.memory_bytes, usage.peak_bytes});
    report_.written_bytes = std::max(report_.written_bytes, usage.written_bytes);
  }

  /// Asks all processes to end. After a disk, memory or processor limit they are killed at once.
  void stop(HelperBreach breach, uint64_t bound, uint64_t figure) {
    report_.breach = breach;
    report_.limit = bound;
    report_.figure = figure;
    stopping_ = true;
    wall_ends_ = SteadyClock::time_point::max();
    const bool has_grace = breach == HelperBreach::kWall || breach == HelperBreach::kStopped;
    if (!has_grace || request_.grace_ms == 0) finish();
    grace_ends_ = SteadyClock::now() + milliseconds(request_.grace_ms);
    (void)kill(-1, SIGTERM);
    if (request_.terminal == 0) return;
    (void)kill(-1, SIGHUP);  // an interactive shell ignores SIGTERM
    (void)kill(-1, SIGCONT);
  }

  /// An orphan becomes a child of pid 1, so without children no other process is left.
  static bool is_alone() {
    pid_t ended = 0;
    do {
      ended = waitpid(-1, nullptr, WNOHANG | __WALL);
    } while (ended > 0);
    return ended < 0 && errno == ECHILD;
  }

  /// The effects of a command that ended by itself are kept, so the caller must know what is not.
  void note_left() {
    if (stopping_ || request_.live != 0) return;
    note_left_files("/tmp", report_);
    if (!is_alone()) note_left_processes(nullptr, report_);
  }

  [[noreturn]] void finish() {
    note_left();
    report_.is_alone = is_alone() ? 1 : 0;
    Usage last;
    add_waited_for(last);
    if (!stopping_) last.written_bytes += gauge_.grown(0, nullptr);
    note_peaks(last);
    // The command may have ended between two measurements.
    const bool is_over =
        !stopping_ && request_.written_bytes != 0 && report_.written_bytes > request_.written_bytes;
    if (is_over) {
      report_.breach = HelperBreach::kWritten;
      report_.limit = request_.written_bytes;
      report_.figure = report_.written_bytes;
    }
    if (!command_ended_) report_.wait_status = SIGKILL;
    report_.outcome = HelperOutcome::kEnded;
    (void)!write(notes_, &report_, sizeof report_);
    _exit(0);
  }

  const SandboxRequest& request_;
  LayerGauge gauge_;
  Fd home_;  ///< of a live run's layer; else closed
  int notes_;
  int lifeline_;
  int signals_ = -1;
  pid_t command_ = -1;
  bool command_ended_ = false;
  bool stopping_ = false;
  SteadyClock::time_point started_;
  SteadyClock::time_point wall_ends_ = SteadyClock::time_point::max();
  SteadyClock::time_point next_look_ = SteadyClock::time_point::max();
  SteadyClock::time_point grace_ends_ = SteadyClock::time_point::max();
  HelperReport report_;
};

constexpr size_t kProcFileBytes = 4096;

using ProcText = std::array<char, kProcFileBytes>;

std::string_view read_proc(int process, const char* name, ProcText& text) {
  const int fd = openat(process, name, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  const ssize_t got = read(fd, text.data(), text.size() - 1);
  close(fd);
  if (got <= 0) return {};
  text[static_cast<size_t>(got)] = '\0';
  return {text.data(), static_cast<size_t>(got)};
}

/// The number after `key` at the start of a line of "key: number" lines.
uint64_t field_of(std::string_view text, const char* key) {
  const size_t at = text.find(key);
  return at == std::string_view::npos
             ? 0
             : std::strtoull(text.data() + at + std::strlen(key), nullptr, 10);
}

/// Returns the field of /proc/<pid>/stat with this number of proc(5), 3 or more; null if absent.
const char* stat_field(std::string_view stat, int number) {
  const size_t name_end = stat.rfind(')');  // the name may contain any character
  if (name_end == std::string_view::npos) return nullptr;
  const char* at = stat.data() + name_end + 1;
  for (int field = 3; field < number && at != nullptr; ++field) at = std::strchr(at + 1, ' ');
  return at;
}

/// utime, stime, cutime, cstime of /proc/<pid>/stat, in clock ticks.
uint64_t ticks_of(std::string_view stat) {
  constexpr int kUtime = 14;
  const char* at = stat_field(stat, kUtime);
  if (at == nullptr) return 0;
  uint64_t sum = 0;
  for (int i = 0; i < 4; ++i) {
    char* next = nullptr;
    sum += std::strtoull(at, &next, 10);
    at = next;
  }
  return sum;
}

uint64_t private_resident(std::string_view statm) {
  static const auto kPage = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  char* at = nullptr;
  std::strtoull(statm.data(), &at, 10);
  const uint64_t resident = std::strtoull(at, &at, 10);
  return resident * kPage;
}

/// Counts all resident memory if the kernel does not report the proportional share, so that the
/// limit still holds.
uint64_t proportional_resident(int process, ProcText& text) {
  constexpr uint64_t kKib = 1024;
  const std::string_view shares = read_proc(process, "smaps_rollup", text);
  if (!shares.empty()) return field_of(shares, "\nPss:") * kKib;
  const std::string_view statm = read_proc(process, "statm", text);
  return statm.empty() ? 0 : private_resident(statm);
}

Usage measure(const std::set<pid_t>* chosen, uint64_t suspect_memory_bytes) {
  static const auto kTicks = static_cast<uint64_t>(sysconf(_SC_CLK_TCK));
  Usage usage;
  ProcText text{};
  uint64_t ticks = 0;
  for_each_process(chosen, [&](int process) {
    ticks += ticks_of(read_proc(process, "stat", text));
    const std::string_view statm = read_proc(process, "statm", text);
    if (!statm.empty()) usage.memory_bytes += private_resident(statm);
    usage.written_bytes += field_of(read_proc(process, "io", text), "\nwrite_bytes: ");
    ++usage.processes;
  });
  usage.cpu_ns = ticks * (kNsPerSecond / kTicks);
  if (suspect_memory_bytes != 0 && usage.memory_bytes > suspect_memory_bytes) {
    usage.memory_bytes = 0;
    for_each_process(
        chosen, [&](int process) { usage.memory_bytes += proportional_resident(process, text); });
  }
  return usage;
}

constexpr uint32_t kMaxLeftFiles = 1000;  // counting takes a millisecond at most
constexpr int kMaxLeftDepth = 8;

/// Counts the files below a directory of one file system.
class LeftFiles {
 public:
  explicit LeftFiles(HelperReport& report) : report_(report) {}

  void count(int parent, const char* name, const std::string& prefix) {
    if (depth_ == kMaxLeftDepth) return;
    constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    const int directory = openat(parent, name, kFlags);
    struct stat status {};
    if (directory < 0 || fstat(directory, &status) != 0) return;
    if (depth_ == 0) device_ = status.st_dev;
    DIR* entries = status.st_dev == device_ ? fdopendir(directory) : nullptr;
    if (entries == nullptr) {
      close(directory);
      return;
    }
    ++depth_;
    while (const dirent* entry = readdir(entries)) {
      if (++seen_ > kMaxLeftFiles) break;
      take(dirfd(entries), entry->d_name, prefix);
    }
    --depth_;
    closedir(entries);
  }

 private:
  void take(int directory, const std::string& name, const std::string& prefix) {
    const bool is_home = depth_ == 1 && name == "home";
    // libfaketime shares its clock in such files.
    const bool is_clock = depth_ == 1 && (name.rfind("faketime_shm_", 0) == 0 ||
                                          name.rfind("sem.faketime_sem_", 0) == 0);
    if (name == "." || name == ".." || is_home || is_clock) return;
    struct stat status {};
    if (fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return;
    const std::string path = prefix + name;
    if (S_ISDIR(status.st_mode)) return count(directory, name.c_str(), path + "/");
    if (!S_ISREG(status.st_mode)) return;
    const bool is_first = report_.left_files++ == 0;
    if (is_first && path.size() < sizeof report_.left_file) {
      path.copy(report_.left_file, path.size());
    }
  }

  HelperReport& report_;
  int depth_ = 0;
  uint32_t seen_ = 0;
  dev_t device_ = 0;
};

}  // namespace

void note_left_processes(const std::function<std::set<pid_t>()>& family, HelperReport& report) {
  constexpr int kTries = 5;
  constexpr int kTryMs = 5;
  ProcText text{};
  for (int tries = 0; tries < kTries; ++tries) {
    report.left_processes = 0;
    const std::set<pid_t> chosen = family ? family() : std::set<pid_t>();
    for_each_process(family ? &chosen : nullptr, [&](int process) {
      uint64_t threads = 0;
      const std::string_view name = read_proc(process, "comm", text);
      if (name.empty() || is_exiting(process, threads)) return;
      if (++report.left_processes > 1) return;
      std::memset(report.left_process, 0, sizeof report.left_process);
      name.substr(0, name.find('\n')).copy(report.left_process, sizeof report.left_process - 1);
    });
    if (report.left_processes == 0) return;
    if (tries + 1 < kTries) (void)poll(nullptr, 0, kTryMs);
  }
}

void note_left_files(const char* directory, HelperReport& report) {
  LeftFiles(report).count(AT_FDCWD, directory, "");
}

void bring_loopback_up() {
  const Fd link(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request{};
  request.ifr_name[0] = 'l';
  request.ifr_name[1] = 'o';
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  // If this fails, only programs that connect to 127.0.0.1 get an error.
  (void)ioctl(link.get(), SIOCSIFFLAGS, &request);
}

void become_command(const SandboxRequest& request, int notes) {
  SetupFailure failure;
  const auto give_up = [&] { report_and_exit(notes, HelperOutcome::kSetupFailed, failure); };
  if (setsid() < 0 && !failed(failure, "start a session")) give_up();
  if (request.terminal != 0 && ioctl(STDIN_FILENO, TIOCSCTTY, 0) != 0 &&
      !failed(failure, "control the terminal")) {
    give_up();
  }
  if (chdir(request.working_directory.c_str()) != 0 &&
      !failed(failure, "enter " + request.working_directory)) {
    give_up();
  }
  if (!apply_limits(request, failure) || !drop_capabilities(failure)) give_up();
  sigset_t none;
  sigemptyset(&none);
  (void)sigprocmask(SIG_SETMASK, &none, nullptr);
  (void)signal(SIGPIPE, SIG_DFL);  // main() ignores it
  (void)signal(SIGXFSZ, SIG_DFL);  // galley ignores it
  umask(static_cast<mode_t>(request.umask));
  // Programs also order objects by their addresses. Where the kernel refuses, they stay random.
  if (request.fixed_random != 0) (void)personality(ADDR_NO_RANDOMIZE);
  std::vector<char*> argv = pointers(request.argv);
  std::vector<char*> environment = pointers(request.environment);
  if (dup3(notes, kControlFd, O_CLOEXEC) < 0 && notes != kControlFd &&
      !failed(failure, "keep the report pipe")) {
    give_up();
  }
  (void)close_range(kControlFd + 1, ~0U, 0);
  notes = kControlFd;
  if (forbid_new_privileges(failure) && apply_landlock(request, failure) &&
      apply_seccomp(request, failure)) {
    execve(request.program.c_str(), argv.data(), environment.data());
    (void)failed(failure, "execute " + request.program);
    report_and_exit(notes, HelperOutcome::kExecFailed, failure);
  }
  report_and_exit(notes, HelperOutcome::kSetupFailed, failure);
}

void live_as_pid_one(const SandboxRequest& request, LayerGauge gauge, Fd home, int notes,
                     int lifeline) {
  sigset_t children;
  sigemptyset(&children);
  sigaddset(&children, SIGCHLD);
  (void)sigprocmask(SIG_BLOCK, &children, nullptr);
  const pid_t command = fork();
  if (command == 0) become_command(request, notes);
  if (command < 0) {
    SetupFailure failure;
    (void)failed(failure, "start the command");
    report_and_exit(notes, HelperOutcome::kSetupFailed, failure);
  }
  // This process must not keep descriptors of the host either.
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int fd = 0; null >= 0 && fd < kControlFd; ++fd) (void)dup2(null, fd);
  PidOne(request, std::move(gauge), std::move(home), notes, lifeline).run(command);
}

void for_each_process(const std::set<pid_t>* chosen, const std::function<void(int)>& visit) {
  DIR* proc = opendir("/proc");
  if (proc == nullptr) return;
  while (const dirent* entry = readdir(proc)) {
    if (entry->d_name[0] < '0' || entry->d_name[0] > '9') continue;
    const auto pid = static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10));
    if (chosen == nullptr ? pid == 1 : !chosen->contains(pid)) continue;
    const int process = openat(dirfd(proc), entry->d_name, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (process < 0) continue;
    visit(process);
    close(process);
  }
  closedir(proc);
}

bool is_exiting(int process, uint64_t& threads) {
  constexpr int kFlags = 9;
  constexpr int kThreads = 20;
  constexpr uint64_t kPfExiting = 4;  // PF_EXITING of the kernel; it stays set in a zombie
  ProcText text{};
  const std::string_view stat = read_proc(process, "stat", text);
  const char* flags = stat_field(stat, kFlags);
  const char* count = stat_field(stat, kThreads);
  if (flags == nullptr || count == nullptr) return false;
  threads = std::strtoull(count, nullptr, 10);
  return (std::strtoull(flags, nullptr, 10) & kPfExiting) != 0;
}

Usage measure_all(uint64_t suspect_memory_bytes) { return measure(nullptr, suspect_memory_bytes); }

Usage measure_these(const std::set<pid_t>& processes, uint64_t suspect_memory_bytes) {
  return measure(&processes, suspect_memory_bytes);
}

void add_waited_for(Usage& usage) {
  constexpr uint64_t kNsPerUs = 1000;
  constexpr uint64_t kBlock = 512;
  constexpr uint64_t kKib = 1024;
  rusage used{};
  if (getrusage(RUSAGE_CHILDREN, &used) != 0) return;
  const auto ns = [](const timeval& time) {
    return static_cast<uint64_t>(time.tv_sec) * kNsPerSecond +
           static_cast<uint64_t>(time.tv_usec) * kNsPerUs;
  };
  usage.cpu_ns += ns(used.ru_utime) + ns(used.ru_stime);
  usage.written_bytes += static_cast<uint64_t>(used.ru_oublock) * kBlock;
  usage.peak_bytes = static_cast<uint64_t>(used.ru_maxrss) * kKib;
}

}  // namespace galley
