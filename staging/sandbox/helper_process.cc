#include "staging/sandbox/helper_process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <optional>
#include <vector>

#include "staging/sandbox/helper/descriptors.h"
#include "staging/sandbox/nameless_program.h"
#include "staging/sandbox/process_streams.h"

namespace galley {
namespace {

constexpr size_t kOutputPieceBytes = size_t{64} << 10U;
constexpr const char* kExpired = "sandbox.helper_expired";

struct Ends {
  Fd ours;
  Fd theirs;
};

Result<Ends> make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return os_error(errno, "cannot make a pipe", "");
  let_others_open(ends[0]);
  return Ends{duplicate_high(Fd(ends[0]).get()), duplicate_high(Fd(ends[1]).get())};
}

Result<Ends> make_control() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return os_error(errno, "cannot make a socket", "");
  }
  return Ends{duplicate_high(Fd(ends[0]).get()), duplicate_high(Fd(ends[1]).get())};
}

/// Returns the command's stdin as a sealed file in memory. A pipe would have to be fed and could
/// cause SIGPIPE.
Result<Fd> make_input(const std::string& input) {
  Fd file(memfd_create("galley-stdin", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  for (size_t done = 0; done < input.size();) {
    const ssize_t wrote = write(file.get(), input.data() + done, input.size() - done);
    if (wrote < 0) return os_error(errno, "cannot hand over the input", "");
    done += static_cast<size_t>(wrote);
  }
  if (lseek(file.get(), 0, SEEK_SET) != 0 ||
      fcntl(file.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) !=
          0) {
    return os_error(errno, "cannot hand over the input", "");
  }
  return file;
}

/// Sends the command's stdin and the socket of its proxy. Without input the command gets the
/// helper's own stdin, /dev/null.
Result<void> send_input(int socket, const Command& command, int proxy) {
  Fd file;
  if (command.input_relay == nullptr && !command.input.empty()) {
    GALLEY_ASSIGN(file, make_input(command.input));
  }
  std::vector<int> descriptors;
  if (command.input_relay != nullptr) descriptors = {command.input_relay->read_end()};
  if (file.is_open()) descriptors = {file.get()};
  if (proxy >= 0) descriptors.push_back(proxy);
  if (send_descriptors(socket, descriptors)) return {};
  return os_error(errno, "cannot hand over the input", "");
}

/// Attributes and actions of a spawn, freed together.
struct SpawnPlan {
  posix_spawn_file_actions_t actions{};
  posix_spawnattr_t attributes{};
  SpawnPlan() {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
  }
  ~SpawnPlan() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;
};

Result<pid_t> spawn_helper(const std::string& helper, bool is_spare,
                           const std::array<int, 4>& descriptors) {
  SpawnPlan plan;
  for (size_t i = 0; i < descriptors.size(); ++i) {
    posix_spawn_file_actions_adddup2(&plan.actions, descriptors[i], static_cast<int>(i));
  }
  // A program without a name is executed by a descriptor, which the child must keep.
  const int nameless = descriptor_of_path(helper);
  const std::string path = nameless < 0 ? helper : path_of_descriptor(kProgramFd);
  if (nameless >= 0) posix_spawn_file_actions_adddup2(&plan.actions, nameless, kProgramFd);
  posix_spawn_file_actions_addclosefrom_np(&plan.actions,
                                           (nameless < 0 ? kControlFd : kProgramFd) + 1);
  sigset_t none;
  sigset_t all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&plan.attributes, &none);
  posix_spawnattr_setsigdefault(&plan.attributes, &all);
  // A separate session: Ctrl-C reaches only this process, which decides.
  posix_spawnattr_setflags(&plan.attributes,
                           POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
  char name[] = "galley-sandbox";
  char* argv[] = {name, is_spare ? const_cast<char*>(kSpareArgument) : nullptr,
                  const_cast<char*>(kSpareMs), nullptr};
  char* environment[] = {nullptr};
  pid_t pid = 0;
  const int code =
      posix_spawn(&pid, path.c_str(), &plan.actions, &plan.attributes, argv, environment);
  if (code == 0) return pid;
  Error error = os_error(code, "cannot start the sandbox program", helper);
  error.kind = ErrorKind::kRefused;
  error.reason = "sandbox.unavailable";
  error.message += "; install galley-sandbox next to galley or in its libexec directory";
  return error;
}

Result<void> send_all(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return os_error(errno, "cannot talk to the sandbox program", "");
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return {};
}

/// The encoded request, after its length.
std::string framed(const SandboxRequest& request) {
  const std::string body = encode(request);
  std::string text;
  RequestWriter{&text}(uint64_t{body.size()});
  return text + body;
}

/// Reads the three streams of a running helper until all have ended, and relays its input.
class Conversation {
 public:
  Conversation(const Command& command, Fd control, Fd out, Fd err)
      : command_(command),
        control_(std::move(control)),
        out_(std::move(out)),
        err_(std::move(err)),
        stop_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
        out_capture_(command.limits.with_defaults().max_stdout_bytes),
        err_capture_(command.limits.with_defaults().max_stderr_bytes) {}

  Result<HelperRun> run() {
    const auto wake = [this] {
      const uint64_t one = 1;
      (void)!write(stop_.get(), &one, sizeof one);
    };
    const std::stop_callback on_stop(command_.stop, wake);
    const std::stop_callback on_end(command_.end, wake);
    while (out_.is_open() || err_.is_open() || control_.is_open()) turn();
    if (received_ != sizeof report_ || report_.version != kWireVersion) {
      return fail(ErrorKind::kInternal, "sandbox.helper_died",
                  "galley-sandbox ended without a report; nothing was staged");
    }
    const bool is_ended = command_.end.stop_requested() && !command_.stop.stop_requested();
    if (is_ended && report_.breach == HelperBreach::kCancelled) {
      report_.breach = HelperBreach::kNone;
    }
    return HelperRun{report_,
                     finish(OutputStream::kStdout, out_capture_),
                     finish(OutputStream::kStderr, err_capture_),
                     {}};
  }

 private:
  void turn() {
    const pollfd input = command_.input_relay ? command_.input_relay->wanted() : pollfd{-1, 0, 0};
    pollfd polled[5] = {{out_.get(), POLLIN, 0},
                        {err_.get(), POLLIN, 0},
                        {control_.get(), POLLIN, 0},
                        {is_stopping_ ? -1 : stop_.get(), POLLIN, 0},
                        input};
    if (poll(polled, 5, -1) < 0) return;  // EINTR
    if (polled[0].revents != 0) pass_on(out_, OutputStream::kStdout, out_capture_);
    if (polled[1].revents != 0) pass_on(err_, OutputStream::kStderr, err_capture_);
    if (polled[2].revents != 0) read_report();
    if (polled[3].revents != 0) {
      is_stopping_ = true;
      if (control_.is_open()) (void)send(control_.get(), &kCancelByte, 1, MSG_NOSIGNAL);
    }
    if (command_.input_relay) command_.input_relay->advance(polled[4]);
  }

  void pass_on(Fd& from, OutputStream stream, OutputCapture& capture) {
    const ssize_t got = read(from.get(), piece_.data(), piece_.size());
    if (got < 0 && errno == EINTR) return;
    if (got <= 0) {
      from = Fd();
      return;
    }
    const std::string_view text(piece_.data(), static_cast<size_t>(got));
    const std::string_view head = text.substr(0, capture.append(text));
    const std::string_view passed = command_.passes_all_output ? text : head;
    if (command_.on_output && !passed.empty()) command_.on_output(stream, passed);
  }

  CapturedOutput finish(OutputStream stream, OutputCapture& capture) const {
    const uint64_t passed_on = capture.head_bytes();
    CapturedOutput kept = std::move(capture).finish();
    if (kept.omitted_bytes != 0 && command_.on_left_out) {
      command_.on_left_out(stream, kept.omitted_bytes);
    }
    const std::string_view rest =
        kept.omitted_bytes != 0 ? kept.tail : std::string_view(kept.head).substr(passed_on);
    const bool is_new = !command_.passes_all_output && !rest.empty();
    if (command_.on_output && is_new) command_.on_output(stream, rest);
    return kept;
  }

  void read_report() {
    const ssize_t got = read(control_.get(), reinterpret_cast<char*>(&report_) + received_,
                             sizeof report_ - received_);
    if (got < 0 && errno == EINTR) return;
    if (got > 0) received_ += static_cast<size_t>(got);
    if (got <= 0 || received_ == sizeof report_) control_ = Fd();
  }

  const Command& command_;
  Fd control_;
  Fd out_;
  Fd err_;
  Fd stop_;
  bool is_stopping_ = false;
  OutputCapture out_capture_;
  OutputCapture err_capture_;
  std::array<char, kOutputPieceBytes> piece_;
  HelperReport report_;
  size_t received_ = 0;
};

}  // namespace

std::optional<int> ExitingProcess::wait() {
  if (pid_ < 0) return {};
  int status = 0;
  pid_t ended = 0;
  do {
    ended = waitpid(pid_, &status, 0);
  } while (ended < 0 && errno == EINTR);
  pid_ = -1;
  return ended > 0 && WIFEXITED(status) ? std::optional(WEXITSTATUS(status)) : std::nullopt;
}

Result<WaitingProcess> WaitingProcess::start_with(const std::string& helper, bool is_spare) {
  GALLEY_ASSIGN(Ends control, make_control());
  GALLEY_ASSIGN(Ends out, make_pipe());
  GALLEY_ASSIGN(Ends err, make_pipe());
  Fd nothing = duplicate_high(Fd(open("/dev/null", O_RDONLY | O_CLOEXEC)).get());
  for (const Fd* fd :
       {&control.ours, &control.theirs, &out.ours, &out.theirs, &err.ours, &err.theirs, &nothing}) {
    if (!fd->is_open()) return os_error(EMFILE, "cannot run a command", "");
  }
  GALLEY_ASSIGN(const pid_t pid, spawn_helper(helper, is_spare,
                                              {nothing.get(), out.theirs.get(), err.theirs.get(),
                                               control.theirs.get()}));
  WaitingProcess started;
  started.process_ = ExitingProcess(pid);
  started.control_ = std::move(control.ours);
  started.out_ = std::move(out.ours);
  started.err_ = std::move(err.ours);
  return started;
}

Result<WaitingProcess> WaitingProcess::start(const std::string& helper) {
  return start_with(helper, false);
}

Result<WaitingProcess> WaitingProcess::start_spare(const std::string& helper) {
  return start_with(helper, true);
}

bool WaitingProcess::is_waiting() const {
  siginfo_t ended{};
  const int done =
      waitid(P_PID, static_cast<id_t>(process_.pid()), &ended, WEXITED | WNOHANG | WNOWAIT);
  return done == 0 && ended.si_pid == 0;
}

bool WaitingProcess::has_expired(const Error& error) { return error.reason == kExpired; }

Result<StartedProcess> WaitingProcess::begin(const SandboxRequest& request,
                                             const std::vector<int>& descriptors) && {
  if (!send_descriptors(control_.get(), descriptors)) {
    return os_error(errno, "cannot hand over the input", "");
  }
  GALLEY_TRY(send_all(control_.get(), framed(request)));
  return StartedProcess{std::move(process_), std::move(control_), std::move(out_), std::move(err_)};
}

Result<HelperRun> WaitingProcess::run(const SandboxRequest& request, const Command& command,
                                      int proxy) && {
  auto sent = send_input(control_.get(), command, proxy);
  if (sent) sent = send_all(control_.get(), framed(request));
  Conversation conversation(command, std::move(control_), std::move(out_), std::move(err_));
  ExitingProcess ending = std::move(process_);
  auto run = conversation.run();
  if (!run && ending.wait() == kSpareExpired) {
    return fail(ErrorKind::kInternal, kExpired, "the waiting helper had ended; nothing was run");
  }
  if (!sent) return fail(sent.error());
  if (run) run->helper = std::move(ending);
  return run;
}

}  // namespace galley
