// galley-sandbox: runs one command in namespaces of its own and reports how it ended. Started by
// the engine with the socket of request.h as descriptor 3; of no use to anybody else.
//
// A program of its own because an engine that holds a gigabyte takes 24 to 50 ms to fork, and
// because a small single-threaded process may do what a big threaded one may not.

#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <grp.h>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "staging/sandbox/helper/admission.h"
#include "staging/sandbox/helper/copy_level.h"
#include "staging/sandbox/helper/pid_one.h"
#include "staging/sandbox/helper/view.h"
#include "staging/sandbox/helper/walls.h"

namespace galley {
namespace {

// Root's own files must not belong to a root inside: every id of the host's first 65,536 is mapped
// to one in a range that nothing else uses (systemd's table of ids leaves it free).
constexpr uint64_t kMappedIds = 65'536;
constexpr uint64_t kFirstMappedId = 0x70000000;

bool write_file(const std::string& path, const std::string& text) {
  const Fd file(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  return file.is_open() &&
         write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

/// One line of uid_map or gid_map for each extent.
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

/// What connects the monitor and pid 1.
struct Links {
  Fd notes_read, notes_write;        ///< a pipe: pid 1 reports
  Fd lifeline_read, lifeline_write;  ///< sockets: the monitor says go, and lives while it is open
  [[nodiscard]] bool open() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return false;
    notes_read = Fd(ends[0]);
    notes_write = Fd(ends[1]);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return false;
    lifeline_read = Fd(ends[0]);
    lifeline_write = Fd(ends[1]);
    return true;
  }
};

[[noreturn]] void tell_and_exit(int notes, const SetupFailure& failure) {
  HelperReport report;
  report.os_error = failure.os_error;
  failure.step.copy(report.step, sizeof report.step - 1);
  (void)!write(notes, &report, sizeof report);
  _exit(1);
}

/// Becomes the user inside that owns the workspace.
bool become_owner(const SandboxRequest& request) {
  const auto gid = static_cast<gid_t>(request.gid);
  const auto uid = static_cast<uid_t>(request.uid);
  return setgroups(0, nullptr) == 0 && setresgid(gid, gid, gid) == 0 &&
         setresuid(uid, uid, uid) == 0;
}

/// What the command can write to outside its private /tmp.
void watch_layers(const LayerTrees& trees, LayerGauge& gauge) {
  constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
  gauge.watch(Fd(openat(trees.upper_home.get(), "upper", kFlags)));
  for (const Fd& kept : trees.keep) gauge.watch(Fd(openat(kept.get(), ".", kFlags)));
}

[[noreturn]] void child_main(Links links, bool has_own_network, bool is_root) {
  links.notes_read = Fd();
  links.lifeline_write = Fd();
  close(kControlFd);
  if (has_own_network) bring_loopback_up();
  SetupFailure failure;
  const int notes = links.notes_write.get();
  static SandboxRequest request;  // lives as long as the process
  std::vector<Fd> received;
  if (!receive_admission(links.lifeline_read.get(), request, received)) _exit(1);
  // Another process of the same user could otherwise reach in while we still hold capabilities.
  if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0 && !failed(failure, "close the process")) {
    tell_and_exit(notes, failure);
  }
  LayerTrees trees;
  if (is_root && !become_owner(request)) {
    (void)failed(failure, "become the owner of the workspace");
    tell_and_exit(notes, failure);
  }
  const bool is_open = is_root ? sort_trees(request, std::move(received), trees) ||
                                     failed(failure, "receive the layers")
                               : open_layers(request, trees, failure);
  LayerGauge gauge;
  if (is_open) watch_layers(trees, gauge);
  if (!is_open || !enter_view(request, std::move(trees), failure)) tell_and_exit(notes, failure);
  live_as_pid_one(request, std::move(gauge), links.notes_write.release(),
                  links.lifeline_read.release());
}

/// pid 1 in namespaces of its own, waiting for its request.
struct Child {
  Links links;
  pid_t pid = -1;
  Fd process;
  bool has_own_network = true;

  [[nodiscard]] bool start(bool is_root, SetupFailure& failure) {
    if (!links.open()) return failed(failure, "make a pipe");
    int process_fd = -1;
    clone_args args{};
    args.flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS |
                 CLONE_NEWCGROUP | CLONE_PIDFD;
    if (has_own_network) args.flags |= CLONE_NEWNET;
    args.exit_signal = SIGCHLD;
    args.pidfd = reinterpret_cast<uint64_t>(&process_fd);
    const long child = syscall(SYS_clone3, &args, sizeof args);
    if (child == 0) child_main(std::move(links), has_own_network, is_root);
    if (child < 0) return failed(failure, "make the namespaces");
    pid = static_cast<pid_t>(child);
    process = Fd(process_fd);
    links.notes_write = Fd();
    links.lifeline_read = Fd();
    return true;
  }
  void end() {
    if (pid < 0) return;
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, nullptr, 0);
    pid = -1;
  }
};

/// Gives pid 1 its ids, its layers and its request.
bool admit(const Child& child, const SandboxRequest& request, const std::string& bytes,
           bool is_root, SetupFailure& failure) {
  LayerTrees trees;
  if (is_root && !open_layers(request, trees, failure)) return false;
  if (!map_ids(child.pid, request, is_root, failure)) return false;
  if (is_root) {
    const std::string path = "/proc/" + std::to_string(child.pid) + "/ns/user";
    const Fd user_ns(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!user_ns.is_open()) return failed(failure, "open the user namespace");
    if (!idmap_layers(trees, user_ns.get(), failure)) return false;
  }
  return send_admission(child.links.lifeline_write.get(), bytes, trees) ||
         failed(failure, "start pid 1");
}

/// What pid 1 and the command's process say of the end.
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
      // A failed exec is told by the command's process, then pid 1 reports its exit: keep the
      // first.
      if (report_.outcome != HelperOutcome::kExecFailed && report_.os_error == ECHILD) {
        report_ = note;
      }
    }
  }
  /// Whether pid 1 is about to end and nobody else is left.
  [[nodiscard]] bool is_alone() const { return is_alone_; }
  [[nodiscard]] const HelperReport& report() const { return report_; }

 private:
  int fd_;
  bool is_alone_ = false;
  HelperReport report_;
};

/// When the helper stops waiting. pid 1 keeps the time itself; this is for a set-up that hangs.
class Deadline {
 public:
  explicit Deadline(const SandboxRequest& request)
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

/// What is told of a command whose pid 1 is gone.
HelperReport report_of(const Notes& notes, const Deadline& deadline, bool is_cancelled,
                       const SandboxRequest& request) {
  HelperReport report = notes.report();
  const bool is_late = deadline.has_passed() && report.outcome != HelperOutcome::kEnded;
  if (is_cancelled || is_late) {
    report.outcome = HelperOutcome::kEnded;
    report.wait_status = SIGKILL;
    report.breach = is_cancelled ? HelperBreach::kCancelled : HelperBreach::kWall;
    report.limit = is_cancelled ? 0 : request.wall_ms;
    report.figure = deadline.ran_ms();
  }
  return report;
}

/// Waits until pid 1 is gone, and with it every process, or says that it is the last of them; kills
/// it when the engine says so or dies.
HelperReport watch(const Child& child, const SandboxRequest& request) {
  const Deadline deadline(request);
  Notes notes(child.links.notes_read.get());
  bool is_cancelled = false;
  bool is_silent = false;  // nobody holds the other end of the notes any more
  for (;;) {
    pollfd polled[3] = {{child.process.get(), POLLIN, 0},
                        {is_cancelled ? -1 : kControlFd, POLLIN, 0},
                        {is_silent ? -1 : child.links.notes_read.get(), POLLIN, 0}};
    (void)poll(polled, 3, deadline.timeout_ms());
    if (polled[0].revents != 0) break;
    if (polled[2].revents != 0) notes.read_all();
    if (notes.is_alone()) return notes.report();
    if ((polled[2].revents & POLLHUP) != 0) is_silent = true;
    if (polled[1].revents != 0) is_cancelled = true;
    if (is_cancelled || deadline.has_passed()) (void)kill(child.pid, SIGKILL);
  }
  notes.read_all();
  return report_of(notes, deadline, is_cancelled, request);
}

/// Lets go of the command's output, so that its end is seen when the last of its processes ends.
void let_go_of_output() {
  const Fd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  for (int fd = 0; null.is_open() && fd < kControlFd; ++fd) (void)dup2(null.get(), fd);
}

HelperReport run_in_namespaces(const SandboxRequest& request, const std::string& bytes,
                               Child& child) {
  HelperReport report;
  SetupFailure failure;
  const bool is_root = geteuid() == 0;
  const bool wants_own_network = request.host_network == 0;
  if (child.pid > 0 && !wants_own_network) child.end();
  bool ready = child.pid > 0;
  if (!ready) {
    child = Child();
    child.has_own_network = wants_own_network;
    ready = child.start(is_root, failure);
  }
  if (ready && !admit(child, request, bytes, is_root, failure)) {
    child.end();
    ready = false;
  }
  if (!ready) {
    report.os_error = failure.os_error;
    failure.step.copy(report.step, sizeof report.step - 1);
    return report;
  }
  let_go_of_output();
  return watch(child, request);
}

/// Makes the namespaces beforehand and waits for a request. Ends when none comes: what is mounted
/// on the host stays in use as long as the namespaces hold it too.
void wait_as_spare(Child& child, int longest_ms) {
  SetupFailure failure;  // will be met again, and told, when there is a request
  (void)child.start(geteuid() == 0, failure);
  pollfd request{kControlFd, POLLIN, 0};
  int ready = 0;
  do {
    ready = poll(&request, 1, longest_ms);
  } while (ready < 0 && errno == EINTR);
  if (ready != 0) return;
  child.end();
  _exit(kSpareExpired);
}

}  // namespace
}  // namespace galley

int main(int argc, char** argv) {
  using namespace galley;
  (void)signal(SIGPIPE, SIG_IGN);
  Child child;
  const bool is_spare = argc > 2 && std::string_view(argv[1]) == kSpareArgument;
  if (is_spare) wait_as_spare(child, std::atoi(argv[2]));
  SandboxRequest request;
  std::string bytes;
  if (!read_framed(kControlFd, bytes) || !decode(bytes, request)) {
    child.end();
    if (!is_spare) {
      std::fputs("galley-sandbox is started by galley; it has no use of its own\n", stderr);
    }
    return 2;
  }
  if (request.copy_level != 0) child.end();
  HelperReport report =
      request.copy_level != 0 ? run_on_copy(request) : run_in_namespaces(request, bytes, child);
  report.landlock_abi = landlock_abi();
  const bool is_told = write(kControlFd, &report, sizeof report) == sizeof report;
  // Nobody waits for this: the kernel takes the namespaces and their mounts down.
  while (waitpid(-1, nullptr, 0) > 0) {
  }
  return is_told ? 0 : 1;
}
