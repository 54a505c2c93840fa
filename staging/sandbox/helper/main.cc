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
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <string>

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

bool read_all(int fd, void* into, size_t count) {
  auto* at = static_cast<char*>(into);
  while (count > 0) {
    const ssize_t got = read(fd, at, count);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    count -= static_cast<size_t>(got);
  }
  return true;
}

bool read_request(SandboxRequest& request) {
  uint64_t size = 0;
  if (!read_all(kControlFd, &size, sizeof size) || size > kMaxRequestBytes) return false;
  std::string bytes(size, '\0');
  return read_all(kControlFd, bytes.data(), size) && decode(bytes, request);
}

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

/// The pipes between the monitor and pid 1.
struct Links {
  Fd notes_read, notes_write;        ///< pid 1 reports
  Fd lifeline_read, lifeline_write;  ///< the monitor says go, and is alive while it is open
  [[nodiscard]] bool open() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return false;
    notes_read = Fd(ends[0]);
    notes_write = Fd(ends[1]);
    if (pipe2(ends, O_CLOEXEC) != 0) return false;
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

[[noreturn]] void child_main(const SandboxRequest& request, Links links, LayerTrees trees,
                             bool is_root) {
  links.notes_read = Fd();
  links.lifeline_write = Fd();
  close(kControlFd);
  SetupFailure failure;
  const int notes = links.notes_write.get();
  char go = 0;
  if (!read_all(links.lifeline_read.get(), &go, 1)) _exit(1);
  // Another process of the same user could otherwise reach in while we still hold capabilities.
  if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0 && !failed(failure, "close the process")) {
    tell_and_exit(notes, failure);
  }
  if (is_root && (setgroups(0, nullptr) != 0 ||
                  setresgid(static_cast<gid_t>(request.gid), static_cast<gid_t>(request.gid),
                            static_cast<gid_t>(request.gid)) != 0 ||
                  setresuid(static_cast<uid_t>(request.uid), static_cast<uid_t>(request.uid),
                            static_cast<uid_t>(request.uid)) != 0)) {
    (void)failed(failure, "become the owner of the workspace");
    tell_and_exit(notes, failure);
  }
  if (!is_root && !open_layers(request, trees, failure)) tell_and_exit(notes, failure);
  if (!enter_view(request, std::move(trees), failure)) tell_and_exit(notes, failure);
  live_as_pid_one(request, links.notes_write.release(), links.lifeline_read.release());
}

pid_t start_child(const SandboxRequest& request, Links& links, LayerTrees& trees, bool is_root,
                  int& process_fd) {
  clone_args args{};
  args.flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS |
               CLONE_NEWCGROUP | CLONE_PIDFD;
  if (request.host_network == 0) args.flags |= CLONE_NEWNET;
  args.exit_signal = SIGCHLD;
  args.pidfd = reinterpret_cast<uint64_t>(&process_fd);
  const long child = syscall(SYS_clone3, &args, sizeof args);
  if (child == 0) child_main(request, std::move(links), std::move(trees), is_root);
  return static_cast<pid_t>(child);
}

bool admit(pid_t child, const SandboxRequest& request, const Links& links, const LayerTrees& trees,
           bool is_root, SetupFailure& failure) {
  if (!map_ids(child, request, is_root, failure)) return false;
  if (is_root) {
    const std::string path = "/proc/" + std::to_string(child) + "/ns/user";
    const Fd user_ns(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!user_ns.is_open()) return failed(failure, "open the user namespace");
    if (!idmap_layers(trees, user_ns.get(), failure)) return false;
  }
  return write(links.lifeline_write.get(), "g", 1) == 1 || failed(failure, "start pid 1");
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

/// Waits until pid 1 is gone, and with it every process, or says that it is the last of them; kills
/// it when the engine says so or dies.
HelperReport watch(pid_t child, int process_fd, const Links& links, const SandboxRequest& request) {
  const auto started = std::chrono::steady_clock::now();
  const auto ran = [&] {
    return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(
                                     std::chrono::steady_clock::now() - started)
                                     .count());
  };
  // pid 1 keeps the time itself; this is for the case that its set-up hangs.
  constexpr uint64_t kSlackMs = 2000;
  const uint64_t longest = request.wall_ms == 0 ? 0 : request.wall_ms + request.grace_ms + kSlackMs;
  Notes notes(links.notes_read.get());
  bool is_cancelled = false;
  bool is_late = false;
  bool is_silent = false;  // nobody holds the other end of the notes any more
  for (;;) {
    pollfd polled[3] = {{process_fd, POLLIN, 0},
                        {is_cancelled ? -1 : kControlFd, POLLIN, 0},
                        {is_silent ? -1 : links.notes_read.get(), POLLIN, 0}};
    constexpr int kOneHourMs = 3'600'000;
    const uint64_t now = ran();
    const int timeout = longest == 0 || is_late ? kOneHourMs
                        : now >= longest
                            ? 0
                            : static_cast<int>(std::min<uint64_t>(longest - now, kOneHourMs));
    (void)poll(polled, 3, timeout);
    if (polled[0].revents != 0) break;
    if (polled[2].revents != 0) notes.read_all();
    if (notes.is_alone()) return notes.report();
    is_silent = is_silent || (polled[2].revents & POLLHUP) != 0;
    if (polled[1].revents != 0) is_cancelled = true;
    if (longest != 0 && ran() >= longest) is_late = true;
    if (is_cancelled || is_late) (void)kill(child, SIGKILL);
  }
  notes.read_all();
  HelperReport report = notes.report();
  const bool has_ended = report.outcome == HelperOutcome::kEnded;
  if (is_cancelled || (is_late && !has_ended)) {
    report.outcome = HelperOutcome::kEnded;
    report.wait_status = SIGKILL;
    report.breach = is_cancelled ? HelperBreach::kCancelled : HelperBreach::kWall;
    report.limit = is_cancelled ? 0 : request.wall_ms;
    report.figure = ran();
  }
  return report;
}

/// Lets go of the command's output, so that its end is seen when the last of its processes ends.
void let_go_of_output() {
  const Fd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  for (int fd = 0; null.is_open() && fd < kControlFd; ++fd) (void)dup2(null.get(), fd);
}

HelperReport run_in_namespaces(const SandboxRequest& request) {
  HelperReport report;
  SetupFailure failure;
  Links links;
  LayerTrees trees;
  int process_fd = -1;
  pid_t child = -1;
  const bool is_root = geteuid() == 0;
  bool ready = links.open() || failed(failure, "make a pipe");
  ready = ready && (!is_root || open_layers(request, trees, failure));
  if (ready) {
    child = start_child(request, links, trees, is_root, process_fd);
    ready = child > 0 || failed(failure, "make the namespaces");
  }
  if (ready && !admit(child, request, links, trees, is_root, failure)) {
    (void)kill(child, SIGKILL);
    (void)waitpid(child, nullptr, 0);
    ready = false;
  }
  if (!ready) {
    report.os_error = failure.os_error;
    failure.step.copy(report.step, sizeof report.step - 1);
    return report;
  }
  links.notes_write = Fd();
  links.lifeline_read = Fd();
  trees = LayerTrees();
  let_go_of_output();
  const Fd closes_itself(process_fd);
  return watch(child, process_fd, links, request);
}

}  // namespace
}  // namespace galley

int main() {
  using namespace galley;
  SandboxRequest request;
  (void)signal(SIGPIPE, SIG_IGN);
  if (!read_request(request)) {
    std::fputs("galley-sandbox is started by galley; it has no use of its own\n", stderr);
    return 2;
  }
  HelperReport report = request.copy_level != 0 ? run_on_copy(request) : run_in_namespaces(request);
  report.landlock_abi = landlock_abi();
  const bool is_told = write(kControlFd, &report, sizeof report) == sizeof report;
  // Nobody waits for this: the kernel takes the namespaces and their mounts down.
  while (waitpid(-1, nullptr, 0) > 0) {
  }
  return is_told ? 0 : 1;
}
