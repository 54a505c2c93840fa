#include "staging/sandbox/helper/monitor.h"

#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/sched.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
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
#include <utility>
#include <vector>

#include "staging/sandbox/helper/descriptors.h"
#include "staging/sandbox/helper/layer_trees.h"
#include "staging/sandbox/helper/pid_one.h"
#include "staging/sandbox/helper/walls.h"

namespace galley {
namespace {

// Files of the host's root must not belong to root inside. So each of the host's first 65,536 ids
// is mapped to an id in a range that systemd's table of ids leaves free.
constexpr uint64_t kMappedIds = 65'536;
constexpr uint64_t kFirstMappedId = 0x70000000;

bool write_file(const std::string& path, const std::string& text) {
  const Fd file(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  return file.is_open() &&
         write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

/// One line of uid_map or gid_map per extent.
std::string id_map(uint64_t inside, bool is_root) {
  if (!is_root) {
    const std::string id = std::to_string(inside);
    return id + " " + id + " 1\n";
  }
  std::string map = "0 " + std::to_string(kFirstMappedId) + " " + std::to_string(kMappedIds) + "\n";
  if (inside >= kMappedIds) {
    map += std::to_string(inside) + " " + std::to_string(kFirstMappedId + kMappedIds) + " 1\n";
  }
  return map;
}

bool map_ids(pid_t child, const SandboxRequest& request, bool is_root, SetupFailure& failure) {
  const std::string proc = "/proc/" + std::to_string(child);
  if (!is_root && !write_file(proc + "/setgroups", "deny")) {
    return failed(failure, "deny setgroups");
  }
  if (!write_file(proc + "/uid_map", id_map(request.uid, is_root)) ||
      !write_file(proc + "/gid_map", id_map(request.gid, is_root))) {
    return failed(failure, "map the user ids");
  }
  return true;
}

/// The ends of the connections between the monitor and pid 1.
struct Links {
  Fd notes_read, notes_write;
  Fd lifeline_ours, lifeline_theirs;
  [[nodiscard]] bool open() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return false;
    notes_read = Fd(ends[0]);
    notes_write = Fd(ends[1]);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return false;
    lifeline_theirs = Fd(ends[0]);
    lifeline_ours = Fd(ends[1]);
    return true;
  }
};

[[noreturn]] void tell_and_exit(int notes, const SetupFailure& failure) {
  const HelperReport report = report_of(HelperOutcome::kSetupFailed, failure);
  (void)!write(notes, &report, sizeof report);
  _exit(1);
}

/// Becomes the user inside who owns the workspace.
bool become_owner(const SandboxRequest& request) {
  const auto gid = static_cast<gid_t>(request.gid);
  const auto uid = static_cast<uid_t>(request.uid);
  return setgroups(0, nullptr) == 0 && setresgid(gid, gid, gid) == 0 &&
         setresuid(uid, uid, uid) == 0;
}

/// Watches the places that the command can write to, except its private /tmp.
void watch_layers(const LayerTrees& trees, LayerGauge& gauge) {
  constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
  gauge.watch(Fd(openat(trees.upper_home.get(), "upper", kFlags)));
  for (const Fd& home : trees.layer_homes) gauge.watch(Fd(openat(home.get(), "upper", kFlags)));
  for (const Fd& kept : trees.keep) gauge.watch(Fd(openat(kept.get(), ".", kFlags)));
}

/// Waits until the supervisor lets the command start. Returns false if the supervisor is gone.
bool may_start(const Fd& channel) {
  char byte = 0;
  ssize_t got = 0;
  do {
    got = read(channel.get(), &byte, 1);
  } while (got < 0 && errno == EINTR);
  return got == 1 && byte == kStartByte;
}

/// Sends a live run's supervisor its descriptors, makes the terminal the standard streams, and
/// waits for the answer.
bool open_channel(const SandboxRequest& request, const Fd& channel, const Fd& overlay,
                  SetupFailure& failure) {
  if (request.live == 0) return true;
  std::vector<int> ends = {overlay.get()};
  Fd ours;
  if (request.terminal != 0) {
    ours = Fd(open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC));
    const int unlocked = 0;
    const winsize size{static_cast<unsigned short>(request.rows),
                       static_cast<unsigned short>(request.columns), 0, 0};
    if (!ours.is_open() || ioctl(ours.get(), TIOCSPTLCK, &unlocked) != 0) {
      return failed(failure, "open a terminal");
    }
    (void)ioctl(ours.get(), TIOCSWINSZ, &size);
    const Fd theirs(ioctl(ours.get(), TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC));
    if (!theirs.is_open()) return failed(failure, "open a terminal");
    for (int fd = 0; fd < kControlFd; ++fd) {
      if (dup2(theirs.get(), fd) < 0) return failed(failure, "take the terminal");
    }
    ends.push_back(ours.get());
  }
  return (send_descriptors(channel.get(), ends) && may_start(channel)) ||
         failed(failure, "answer the supervisor");
}

/// Sends the socket on which the command will find its proxy.
bool open_proxy(const SandboxRequest& request, const Fd& proxy, SetupFailure& failure) {
  if (request.proxy == 0) return true;
  const Fd listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_port = htons(kProxyPort);
  place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const bool listens =
      listener.is_open() &&
      bind(listener.get(), reinterpret_cast<sockaddr*>(&place), sizeof place) == 0 &&
      listen(listener.get(), SOMAXCONN) == 0;
  return (listens && send_descriptors(proxy.get(), {listener.get()})) ||
         failed(failure, "open the proxy");
}

/// The main function of pid 1 until it starts the command.
[[noreturn]] void pid_one_main(Links links, bool has_own_network, bool is_root) {
  links.notes_read = Fd();
  links.lifeline_ours = Fd();
  close(kControlFd);
  if (has_own_network) bring_loopback_up();
  SetupFailure failure;
  const int notes = links.notes_write.get();
  static Admission admission;  // lives as long as the process
  if (!receive_admission(links.lifeline_theirs.get(), is_root, admission)) _exit(1);
  const SandboxRequest& request = admission.request;
  // Otherwise another process of the same user could access this process while it has capabilities.
  if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0 && !failed(failure, "close the process")) {
    tell_and_exit(notes, failure);
  }
  if (admission.input.is_open() && dup2(admission.input.get(), STDIN_FILENO) < 0 &&
      !failed(failure, "take the input")) {
    tell_and_exit(notes, failure);
  }
  admission.input = Fd();
  if (is_root && !become_owner(request)) {
    (void)failed(failure, "become the owner of the workspace");
    tell_and_exit(notes, failure);
  }
  const bool is_open = is_root || open_layers(request, admission.trees, failure);
  LayerGauge gauge;
  if (is_open) watch_layers(admission.trees, gauge);
  Fd home;  // of a live run's layer
  if (is_open && request.live != 0) {
    home = Fd(openat(admission.trees.upper_home.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  Fd overlay;
  if (!is_open || !enter_view(request, std::move(admission.trees), overlay, failure) ||
      !open_proxy(request, admission.proxy, failure) ||
      !open_channel(request, admission.channel, overlay, failure)) {
    tell_and_exit(notes, failure);
  }
  overlay = Fd();
  admission.channel = Fd();
  admission.proxy = Fd();
  live_as_pid_one(request, std::move(gauge), std::move(home), links.notes_write.release(),
                  links.lifeline_theirs.release());
}

/// The reports of pid 1 and the command's process.
class Notes {
 public:
  explicit Notes(int fd) : fd_(fd) {
    report_.os_error = ECHILD;
    (void)!std::snprintf(report_.step, sizeof report_.step, "hear from pid 1");
    (void)fcntl(fd_, F_SETFL, O_NONBLOCK);
  }
  void read_all() {
    HelperReport note;
    while (read(fd_, &note, sizeof note) == sizeof note) {
      is_alone_ = is_alone_ || note.is_alone != 0;
      // The command's process reports a failed exec, then pid 1 reports its exit: keep the first
      // report.
      if (report_.outcome != HelperOutcome::kExecFailed && report_.os_error == ECHILD) {
        report_ = note;
      }
    }
  }
  /// Whether pid 1 is about to end and is the last process.
  [[nodiscard]] bool is_alone() const { return is_alone_; }
  [[nodiscard]] const HelperReport& report() const { return report_; }

 private:
  int fd_;
  bool is_alone_ = false;
  HelperReport report_;
};

/// How long the monitor waits for pid 1. pid 1 itself checks the wall limit. This limit is for a
/// set-up that hangs.
class Patience {
 public:
  explicit Patience(const SandboxRequest& request)
      : longest_(request.wall_ms == 0 ? 0 : request.wall_ms + request.grace_ms + kSlackMs) {}

  [[nodiscard]] uint64_t ran_ms() const {
    const auto ran = std::chrono::steady_clock::now() - started_;
    return static_cast<uint64_t>(
        std::chrono::duration_cast<std::chrono::milliseconds>(ran).count());
  }
  [[nodiscard]] bool has_passed() const { return longest_ != 0 && ran_ms() >= longest_; }
  /// For poll(); never endless.
  [[nodiscard]] int timeout_ms() const {
    if (longest_ == 0 || has_passed()) return kOneHourMs;
    const uint64_t now = ran_ms();
    return now >= longest_ ? 0 : static_cast<int>(std::min<uint64_t>(longest_ - now, kOneHourMs));
  }

 private:
  static constexpr uint64_t kSlackMs = 2000;
  static constexpr int kOneHourMs = 3'600'000;
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  uint64_t longest_;
};

/// The report of a command whose pid 1 is gone.
HelperReport final_report(const Notes& notes, const Patience& patience, bool is_cancelled,
                          const SandboxRequest& request) {
  HelperReport report = notes.report();
  const bool is_late = patience.has_passed() && report.outcome != HelperOutcome::kEnded;
  if (is_cancelled || is_late) {
    report.outcome = HelperOutcome::kEnded;
    report.wait_status = SIGKILL;
    report.breach = is_cancelled ? HelperBreach::kCancelled : HelperBreach::kWall;
    report.limit = is_cancelled ? 0 : request.wall_ms;
    report.figure = patience.ran_ms();
  }
  return report;
}

/// Closes the command's output here, so that its end is seen when its last process ends.
void let_go_of_output() {
  const Fd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  for (int fd = 0; null.is_open() && fd < kControlFd; ++fd) (void)dup2(null.get(), fd);
}

// Without a PID namespace the monitor becomes the reaper of all descendants, so that none can
// escape by forking twice. It kills them repeatedly until none is left.

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
    if (has_ended_ && breach_ == HelperBreach::kNone) {
      note_left_files(request_.upper_home.c_str(), left_);
      note_left_processes(descendants, left_);
    }
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
    report = left_;
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
  HelperReport left_;  ///< only what the command left
  Usage usage_;        ///< at the last measurement
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

bool Monitor::start(bool has_own_network, SetupFailure& failure) {
  end();
  Links links;
  if (!links.open()) return failed(failure, "make a pipe");
  const bool is_root = geteuid() == 0;
  int process = -1;
  clone_args args{};
  args.flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS |
               CLONE_NEWCGROUP | CLONE_PIDFD;
  if (has_own_network) args.flags |= CLONE_NEWNET;
  args.exit_signal = SIGCHLD;
  args.pidfd = reinterpret_cast<uint64_t>(&process);
  const long child = syscall(SYS_clone3, &args, sizeof args);
  if (child == 0) pid_one_main(std::move(links), has_own_network, is_root);
  if (child < 0) return failed(failure, "make the namespaces");
  pid_ = static_cast<pid_t>(child);
  process_ = Fd(process);
  notes_ = std::move(links.notes_read);
  lifeline_ = std::move(links.lifeline_ours);
  return true;
}

void Monitor::end() {
  if (pid_ < 0) return;
  (void)kill(pid_, SIGKILL);
  (void)waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

/// Sends pid 1 its ids, its layers and its request.
bool Monitor::admit(const ReceivedRequest& received, SetupFailure& failure) const {
  const bool is_root = geteuid() == 0;
  LayerTrees trees;
  if (is_root && !open_layers(received.request, trees, failure)) return false;
  if (!map_ids(pid_, received.request, is_root, failure)) return false;
  if (is_root) {
    const std::string path = "/proc/" + std::to_string(pid_) + "/ns/user";
    const Fd user_ns(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!user_ns.is_open()) return failed(failure, "open the user namespace");
    if (!idmap_layers(trees, user_ns.get(), failure)) return false;
  }
  return send_admission(lifeline_.get(), received, trees) || failed(failure, "start pid 1");
}

HelperReport Monitor::run(const ReceivedRequest& received) {
  SetupFailure failure;
  const bool wants_own_network = received.request.host_network == 0;
  // start() was called for the most common kind of request.
  const bool fits = pid_ > 0 && wants_own_network;
  if (!fits && !start(wants_own_network, failure)) {
    return report_of(HelperOutcome::kSetupFailed, failure);
  }
  if (!admit(received, failure)) {
    end();
    return report_of(HelperOutcome::kSetupFailed, failure);
  }
  let_go_of_output();
  return watch(received.request);
}

/// Passes a request to stop or to refresh on to pid 1. Returns false if pid 1 must be killed,
/// because the engine is gone or asks to kill it.
bool Monitor::read_request() const {
  char byte = 0;
  if (read(kControlFd, &byte, 1) != 1) return false;
  if (byte != kStopByte && byte != kRefreshByte) return false;
  return write(lifeline_.get(), &byte, 1) == 1;
}

/// Waits until pid 1 and all other processes are gone, or until pid 1 reports that it is the last.
/// Kills pid 1 when the engine asks for this or dies.
HelperReport Monitor::watch(const SandboxRequest& request) const {
  const Patience patience(request);
  Notes notes(notes_.get());
  bool is_cancelled = false;
  bool is_silent = false;  // all other ends of the notes are closed
  for (;;) {
    pollfd polled[3] = {{process_.get(), POLLIN, 0},
                        {is_cancelled ? -1 : kControlFd, POLLIN, 0},
                        {is_silent ? -1 : notes_.get(), POLLIN, 0}};
    (void)poll(polled, 3, patience.timeout_ms());
    if (polled[0].revents != 0) break;
    if (polled[2].revents != 0) notes.read_all();
    if (notes.is_alone()) return notes.report();
    if ((polled[2].revents & POLLHUP) != 0) is_silent = true;
    if (polled[1].revents != 0) is_cancelled = !read_request();
    if (is_cancelled || patience.has_passed()) (void)kill(pid_, SIGKILL);
  }
  notes.read_all();
  return final_report(notes, patience, is_cancelled, request);
}

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
