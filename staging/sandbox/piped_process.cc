#include "staging/sandbox/piped_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <utility>

#include "staging/fs/disk_file.h"
#include "staging/sandbox/command_runner.h"
#include "staging/sandbox/host_process.h"
#include "staging/sandbox/process_end.h"

extern char** environ;  // NOLINT(readability-redundant-declaration)

namespace galley {
namespace {

constexpr size_t kReadBytes = size_t{64} << 10U;
constexpr int kLookEveryMs = 100;  ///< for a request to stop

class SpawnedPipes final : public PipedProcess {
 public:
  /// This process's ends of a child.
  struct Ends {
    Descriptor input;
    Descriptor output;
    Descriptor complaint;
  };

  SpawnedPipes(pid_t pid, Ends ends, std::chrono::milliseconds time)
      : pid_(pid), ends_(std::move(ends)), time_(time) {}
  ~SpawnedPipes() override { (void)finish(TimeLimit(time_.count() == 0 ? time_ : kEndTime)); }

  Result<void> write(std::string_view text) override {
    const TimeLimit limit(time_);
    while (!text.empty()) {
      GALLEY_TRY(await(ends_.input, POLLOUT, limit));
      GALLEY_ASSIGN(const size_t count, write_some(text));
      text.remove_prefix(count);
    }
    return {};
  }

  void end_input() override { ends_.input = Descriptor(); }

  Result<std::string> read(size_t max_bytes) override {
    GALLEY_TRY(await(ends_.output, POLLIN, TimeLimit(time_)));
    return read_some(max_bytes);
  }

  Result<int> wait() override { return wait(TimeLimit(time_)); }

  [[nodiscard]] std::string complaint() const override {
    std::string text(kMaxStandardErrorBytes, '\0');
    const ssize_t count = ::pread(ends_.complaint.get(), text.data(), text.size(), 0);
    text.resize(count < 0 ? 0 : static_cast<size_t>(count));
    return text;
  }

  /// Writes `input` as fast as the program accepts it, and reads the output at the same time, until
  /// the program closes its output. Then waits for its end.
  Result<PipedOutput> exchange(std::string_view input, size_t max_output_bytes,
                               const std::stop_token& stop) {
    const TimeLimit limit(time_);
    PipedOutput result;
    if (input.empty()) end_input();
    while (true) {
      pollfd both[2] = {{ends_.output.get(), POLLIN, 0}, {ends_.input.get(), POLLOUT, 0}};
      const int left_ms = limit.poll_ms();
      const bool must_look = stop.stop_possible() && (left_ms < 0 || left_ms > kLookEveryMs);
      if (stop.stop_requested()) return stopped();
      const int ready = ::poll(both, ends_.input ? 2 : 1, must_look ? kLookEveryMs : left_ms);
      if ((ready < 0 && errno == EINTR) || (ready == 0 && must_look)) continue;
      if (ready < 0) return fail(os_error(errno, "waiting for a program", ""));
      if (ready == 0) return too_slow();
      if (ends_.input && both[1].revents != 0) {
        const auto count = write_some(input);
        // If the program stops reading, its exit status says why.
        input.remove_prefix(count ? *count : input.size());
        if (input.empty()) end_input();
      }
      if (both[0].revents == 0) continue;
      GALLEY_ASSIGN(const std::string some, read_some(kReadBytes));
      if (some.empty()) break;
      result.output += some;
      if (result.output.size() <= max_output_bytes) continue;
      return fail(ErrorKind::kQuota, "limit.host_output",
                  "a program wrote more than " + std::to_string(max_output_bytes) + " bytes");
    }
    GALLEY_ASSIGN(result.status, wait(limit));
    result.complaint = complaint();
    return result;
  }

 private:
  /// Ends it and returns the error.
  tl::unexpected<Error> too_slow() {
    (void)end();
    return fail(
        ErrorKind::kTimeout, "host.timeout",
        "a program took longer than " + std::to_string(time_.count()) + " ms and was ended");
  }

  tl::unexpected<Error> stopped() {
    (void)end();
    return fail(ErrorKind::kTimeout, "host.stopped",
                "a program was ended, because this process must end");
  }

  Result<void> await(const Descriptor& end, short events, const TimeLimit& limit) {
    pollfd one = {end.get(), events, 0};
    while (true) {
      const int ready = ::poll(&one, 1, limit.poll_ms());
      if (ready > 0) return {};
      if (ready == 0) return too_slow();
      if (errno != EINTR) return fail(os_error(errno, "waiting for a program", ""));
    }
  }

  /// The buffer is not filled with zeros, which would cost more than a short answer.
  Result<std::string> read_some(size_t max_bytes) {
    char buffer[kReadBytes];
    while (true) {
      const ssize_t count = ::read(ends_.output.get(), buffer, std::min(max_bytes, sizeof buffer));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return fail(os_error(errno, "reading from a program", ""));
      return std::string(buffer, static_cast<size_t>(count));
    }
  }

  /// Uses a socket and MSG_NOSIGNAL, because writing to a broken pipe would end this process by
  /// SIGPIPE.
  Result<size_t> write_some(std::string_view text) {
    while (true) {
      const ssize_t count =
          ::send(ends_.input.get(), text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
      if (count >= 0) return static_cast<size_t>(count);
      if (errno == EAGAIN) return size_t{0};
      if (errno != EINTR) return fail(os_error(errno, "writing to a program", ""));
    }
  }

  void close_ends() {
    ends_.input = Descriptor();
    ends_.output = Descriptor();
  }

  /// Closes both ends and waits; ends it when the limit has passed.
  Result<int> wait(const TimeLimit& limit) {
    close_ends();
    if (pid_ >= 0 && !has_ended_by(pid_, limit)) return too_slow();
    return reap();
  }
  Result<int> finish(const TimeLimit& limit) {
    close_ends();
    return pid_ < 0 || has_ended_by(pid_, limit) ? reap() : end();
  }

  /// First asks the program to exit, so that it can remove its own locks.
  Result<int> end() {
    close_ends();
    if (pid_ < 0) return status_;
    (void)::kill(pid_, SIGTERM);
    if (!has_ended_by(pid_, TimeLimit(kEndTime))) (void)::kill(pid_, SIGKILL);
    return reap();
  }

  Result<int> reap() {
    if (pid_ < 0) return status_;
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0) {
      if (errno != EINTR) return fail(os_error(errno, "waiting for a program", ""));
    }
    pid_ = -1;
    status_ = shell_status(status);
    return status_;
  }

  pid_t pid_;
  int status_ = 0;
  Ends ends_;
  std::chrono::milliseconds time_;
};

/// Returns the environment of the child: that of this process, with the names that are set and
/// without those that are left out.
std::vector<std::string> environment_of(const PipedProcessOptions& options) {
  std::vector<std::string> all = options.environment;
  const auto is_named = [&](std::string_view name) {
    const auto sets = [name](const std::string& one) {
      return one.size() > name.size() && one[name.size()] == '=' && one.starts_with(name);
    };
    return std::any_of(options.environment.begin(), options.environment.end(), sets) ||
           std::find(options.unset.begin(), options.unset.end(), name) != options.unset.end();
  };
  for (char** one = environ; *one != nullptr; ++one) {
    const std::string_view text = *one;
    if (!is_named(text.substr(0, text.find('=')))) all.emplace_back(text);
  }
  return all;
}

/// execve takes char* but does not change the texts.
std::vector<char*> words_for_exec(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

/// What a child needs between vfork() and its program. Nothing here allocates.
struct ChildStart {
  pid_t parent = ::getpid();
  const char* directory = "";
  int input = -1;
  int output = -1;
  int complaint = -1;
  bool ends_with_us = false;  ///< it gets SIGTERM if this thread or process ends first
  uint64_t data_bytes = 0;    ///< 0: no limit
  std::vector<char*> arguments;
  std::vector<char*> variables;
  sigset_t signals{};  ///< the mask of this thread
};

/// Runs in the child, which has the memory of its parent but its own signal handlers. Returns errno
/// if the program cannot be started.
int become(const ChildStart& start) {
  for (int number = 1; number < NSIG; ++number) {
    struct sigaction now {};
    if (::sigaction(number, nullptr, &now) != 0 || now.sa_handler == SIG_IGN) continue;
    now.sa_handler = SIG_DFL;
    now.sa_flags = 0;
    (void)::sigaction(number, &now, nullptr);
  }
  if (start.ends_with_us) {
    if (::prctl(PR_SET_PDEATHSIG, SIGTERM) != 0) return errno;
    if (::getppid() != start.parent) ::_exit(kSignalStatusBase + SIGTERM);
  }
  struct rlimit data {};
  if (start.data_bytes > 0 && ::getrlimit(RLIMIT_DATA, &data) == 0) {
    data.rlim_cur = std::min<rlim_t>(data.rlim_max, start.data_bytes);
    if (::setrlimit(RLIMIT_DATA, &data) != 0) return errno;
  }
  if (*start.directory != '\0' && ::chdir(start.directory) != 0) return errno;
  // If Galley was started without standard streams, these have the numbers of streams.
  const int input = ::fcntl(start.input, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  const int output = ::fcntl(start.output, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  const int complaint = ::fcntl(start.complaint, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (::dup2(input, STDIN_FILENO) < 0 || ::dup2(output, STDOUT_FILENO) < 0 ||
      ::dup2(complaint, STDERR_FILENO) < 0) {
    return errno;
  }
  // Libraries open descriptors that the program would inherit.
  (void)::close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
  (void)::pthread_sigmask(SIG_SETMASK, &start.signals, nullptr);
  ::execvpe(start.arguments[0], start.arguments.data(), start.variables.data());
  return errno;
}

/// posix_spawnp(3) with PR_SET_PDEATHSIG, which it lacks. Returns errno, or 0 and the child.
int spawn_child(ChildStart& start, pid_t& pid) {
  sigset_t all;
  sigfillset(&all);
  (void)::pthread_sigmask(SIG_SETMASK, &all, &start.signals);
  volatile int code = 0;
  pid = ::vfork();  // NOLINT(clang-analyzer-security.insecureAPI.vfork)
  if (pid == 0) {
    code = become(start);
    ::_exit(kSignalStatusBase - 1);
  }
  if (pid < 0) code = errno;
  (void)::pthread_sigmask(SIG_SETMASK, &start.signals, nullptr);
  if (pid > 0 && code != 0) (void)::waitpid(pid, nullptr, 0);
  return code;
}

/// How long a program may live.
enum class ChildLife : uint8_t {
  kToEndOfInput,  ///< another thread may use it later; it sees the end of its input
  kWithThread,    ///< this thread waits for it, and it ends if this process is killed
};

Result<std::unique_ptr<SpawnedPipes>> spawn_piped(const std::vector<std::string>& argv,
                                                  const PipedProcessOptions& options,
                                                  ChildLife life) {
  if (argv.empty()) return fail(ErrorKind::kUsage, "host.no_program", "no program was named");
  int input[2] = {-1, -1};
  int output[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, input) != 0) {
    return fail(os_error(errno, "making a socket for", argv[0]));
  }
  Descriptor our_input(input[0]);
  Descriptor its_input(input[1]);
  if (::pipe2(output, O_CLOEXEC) != 0) return fail(os_error(errno, "making a pipe for", argv[0]));
  Descriptor our_output(output[0]);
  Descriptor its_output(output[1]);
  Descriptor complaint(::memfd_create("complaint", MFD_CLOEXEC));
  if (!complaint) return fail(os_error(errno, "making a buffer for", argv[0]));
  const std::vector<std::string> environment = environment_of(options);
  ChildStart start;
  start.directory = options.directory.c_str();
  start.input = its_input.get();
  start.output = its_output.get();
  start.complaint = complaint.get();
  start.ends_with_us = life == ChildLife::kWithThread;
  start.data_bytes = options.data_bytes;
  start.arguments = words_for_exec(argv);
  start.variables = words_for_exec(environment);
  pid_t pid = -1;
  const int code = spawn_child(start, pid);
  if (code == ENOENT) {
    return fail(ErrorKind::kNotFound, "host.not_found",
                "there is no program " + argv[0] + " on PATH; install it");
  }
  if (code != 0) return fail(os_error(code, "starting", argv[0]));
  return std::make_unique<SpawnedPipes>(
      pid, SpawnedPipes::Ends{std::move(our_input), std::move(our_output), std::move(complaint)},
      options.time);
}

}  // namespace

Result<std::unique_ptr<PipedProcess>> PipedProcess::start(const std::vector<std::string>& argv,
                                                          const PipedProcessOptions& options) {
  GALLEY_ASSIGN(auto process, spawn_piped(argv, options, ChildLife::kToEndOfInput));
  return std::unique_ptr<PipedProcess>(std::move(process));
}

Result<PipedOutput> run_piped(const std::vector<std::string>& argv,
                              const PipedProcessOptions& options, std::string_view input,
                              size_t max_output_bytes) {
  GALLEY_ASSIGN(const auto process, spawn_piped(argv, options, ChildLife::kWithThread));
  return process->exchange(input, max_output_bytes, options.stop);
}

}  // namespace galley
