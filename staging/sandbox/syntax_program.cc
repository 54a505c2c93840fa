#include "staging/sandbox/syntax_program.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <future>
#include <span>
#include <system_error>
#include <thread>
#include <utility>

#include "base/parallel.h"
#include "staging/sandbox/helper/descriptors.h"
#include "staging/sandbox/nameless_program.h"

namespace galley {
namespace {

constexpr const char* kName = "galley-syntax";
constexpr int kPollMs = 50;  // how often should_stop is asked
constexpr size_t kAnswerPieceBytes = size_t{64} << 10U;
constexpr size_t kMaxAnswerBytes = size_t{64} << 20U;  // of one child

using Texts = std::span<const SyntaxText>;

/// A child that has been started; the destructor kills and reaps it.
class Child {
 public:
  Child(pid_t pid, Fd socket) : pid_(pid), socket_(std::move(socket)) {}
  Child(Child&& other) noexcept
      : pid_(std::exchange(other.pid_, -1)), socket_(std::move(other.socket_)) {}
  Child& operator=(Child&&) = delete;
  ~Child() {
    if (pid_ < 0) return;
    kill(pid_, SIGKILL);
    (void)wait();
  }
  [[nodiscard]] int socket() const { return socket_.get(); }
  /// Its wait status, as from waitpid.
  int wait() {
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    return status;
  }

 private:
  pid_t pid_;
  Fd socket_;
};

Error not_started(int code, const std::string& path) {
  Error error = os_error(code, "cannot start", path);
  error.kind = ErrorKind::kNotFound;
  error.reason = "syntax.not_installed";
  return error;
}

/// Starts the program with one socket as its stdin and stdout, and no other descriptor.
Result<Child> start(const std::string& path) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return fail(os_error(errno, "cannot make a socket", ""));
  }
  Fd ours(ends[0]);
  const Fd theirs(ends[1]);
  const Fd high = duplicate_high(theirs.get());
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, high.get(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, high.get(), STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigset_t all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
  std::string name = kName;
  char* argv[] = {name.data(), nullptr};
  char* environment[] = {nullptr};
  pid_t pid = -1;
  const int code = posix_spawn(&pid, path.c_str(), &actions, &attributes, argv, environment);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (code != 0) return fail(not_started(code, path));
  fcntl(ours.get(), F_SETFL, O_NONBLOCK);
  return Child(pid, std::move(ours));
}

/// Writes requests to a child and reads its answers, as far as possible without waiting.
class SyntaxTalk {
 public:
  SyntaxTalk(Child child, Texts texts, const std::function<bool()>& should_stop)
      : child_(std::move(child)), texts_(texts), should_stop_(should_stop) {
    size_t size = 0;
    for (const SyntaxText& one : texts) size += one.text.size() + kAnswerPieceBytes / 1024;
    requests_.reserve(size);
    for (const SyntaxText& one : texts) append_request(requests_, one.language, one.text);
  }

  Result<std::vector<SyntaxAnswer>> run() {
    const auto end = std::chrono::steady_clock::now() + kMaxSyntaxRun;
    while (!has_ended_) {
      if (should_stop_ && should_stop_()) {
        return fail(ErrorKind::kTimeout, "syntax.stopped", "it was stopped before it was done");
      }
      if (std::chrono::steady_clock::now() >= end) {
        return fail(ErrorKind::kTimeout, "syntax.timeout",
                    std::string(kName) + " took longer than " +
                        std::to_string(kMaxSyntaxRun.count()) + " ms" + at_which());
      }
      turn();
    }
    return answers();
  }

 private:
  void turn() {
    const bool has_more = sent_ < requests_.size();
    pollfd polled{child_.socket(), static_cast<short>(POLLIN | (has_more ? POLLOUT : 0)), 0};
    if (poll(&polled, 1, kPollMs) <= 0) return;
    if ((polled.revents & POLLOUT) != 0) send_some();
    if ((polled.revents & (POLLIN | POLLHUP | POLLERR)) != 0) receive_some();
  }

  void send_some() {
    const ssize_t sent = send(child_.socket(), requests_.data() + sent_, requests_.size() - sent_,
                              MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) sent_ += static_cast<size_t>(sent);
    if (sent < 0 && errno != EAGAIN && errno != EINTR) sent_ = requests_.size();  // wait() says why
    if (sent_ == requests_.size()) shutdown(child_.socket(), SHUT_WR);
  }

  void receive_some() {
    const ssize_t got = recv(child_.socket(), piece_.data(), piece_.size(), MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got > 0) received_.append(piece_.data(), static_cast<size_t>(got));
    has_ended_ = got <= 0 || received_.size() > kMaxAnswerBytes;
  }

  /// The complete answers.
  std::vector<SyntaxAnswer> whole_answers() const {
    std::vector<SyntaxAnswer> found;
    std::string_view bytes = received_;
    if (!bytes.starts_with(kSyntaxGreeting)) return found;
    bytes.remove_prefix(kSyntaxGreeting.size());
    for (const SyntaxText& one : texts_) {
      auto answer = take_answer(bytes, one.text.size());
      if (!answer) break;
      found.push_back(std::move(*answer));
    }
    return found;
  }

  [[nodiscard]] std::string at_which() const {
    const size_t count = whole_answers().size();
    return count < texts_.size() ? ", at " + texts_[count].name : std::string();
  }

  Result<std::vector<SyntaxAnswer>> answers() {
    std::vector<SyntaxAnswer> found = whole_answers();
    if (found.size() == texts_.size()) return found;
    if (!received_.starts_with(kSyntaxGreeting) && !received_.empty()) {
      return fail(ErrorKind::kInternal, "syntax.died",
                  std::string(kName) +
                      " is of another version; install the one that came with "
                      "this galley");
    }
    const int status = child_.wait();
    const std::string how = WIFSIGNALED(status) ? "signal " + std::to_string(WTERMSIG(status))
                                                : "status " + std::to_string(WEXITSTATUS(status));
    return fail(ErrorKind::kInternal, "syntax.died",
                std::string(kName) + " ended with " + how + at_which() +
                    "; leave that file out of this validator's `paths`");
  }

  Child child_;
  Texts texts_;
  const std::function<bool()>& should_stop_;
  std::string requests_;
  size_t sent_ = 0;
  std::string received_;
  std::array<char, kAnswerPieceBytes> piece_;
  bool has_ended_ = false;
};

Result<std::vector<SyntaxAnswer>> parse_in_child(const std::string& path, Texts texts,
                                                 const std::function<bool()>& should_stop) {
  GALLEY_ASSIGN(Child child, start(path));
  return SyntaxTalk(std::move(child), texts, should_stop).run();
}

/// Splits texts into parts of about the same size, one for each core that is worth using.
std::vector<Texts> shares_of(const std::vector<SyntaxText>& texts) {
  size_t total = 0;
  for (const SyntaxText& one : texts) total += one.text.size();
  const size_t cores = std::clamp<size_t>(std::thread::hardware_concurrency(), 1, kMaxWorkers);
  const size_t count = std::clamp<size_t>(total / kSyntaxShareBytes, 1, cores);
  std::vector<Texts> shares;
  size_t begin = 0;
  size_t bytes = 0;
  for (size_t i = 0; i < texts.size(); ++i) {
    bytes += texts[i].text.size();
    if (bytes * count < total * (shares.size() + 1) && i + 1 < texts.size()) continue;
    shares.push_back(Texts(texts).subspan(begin, i + 1 - begin));
    begin = i + 1;
  }
  return shares;
}

}  // namespace

Result<SyntaxProgram> SyntaxProgram::find() {
  auto path = companion_program(kName);
  if (path) return SyntaxProgram(*std::move(path));
  return fail(ErrorKind::kNotFound, "syntax.not_installed",
              "the program galley-syntax, which has the grammars, is neither next to galley nor in "
              "../libexec/galley; install the package galley-syntax, or take the validator out");
}

std::string SyntaxProgram::identity() const {
  struct stat found {};
  if (stat(path_.c_str(), &found) != 0) return {};
  return std::string(kSyntaxGreeting) + std::to_string(found.st_size) + " " +
         std::to_string(found.st_mtim.tv_sec) + "." + std::to_string(found.st_mtim.tv_nsec);
}

Result<std::vector<SyntaxAnswer>> SyntaxProgram::parse(
    const std::vector<SyntaxText>& texts, const std::function<bool()>& should_stop) const {
  if (texts.empty()) return std::vector<SyntaxAnswer>();
  const std::vector<Texts> shares = shares_of(texts);
  std::vector<std::future<Result<std::vector<SyntaxAnswer>>>> others;
  for (size_t i = 1; i < shares.size(); ++i) {
    auto work = [&, share = shares[i]] { return parse_in_child(path_, share, should_stop); };
    try {
      others.push_back(std::async(std::launch::async, work));
    } catch (const std::system_error&) {  // no thread available: this one does it later
      others.push_back(std::async(std::launch::deferred, work));
    }
  }
  auto all = parse_in_child(path_, shares[0], should_stop);
  for (auto& other : others) {
    auto more = other.get();
    if (!all) continue;
    if (!more) {
      all = std::move(more);
    } else {
      std::move(more->begin(), more->end(), std::back_inserter(*all));
    }
  }
  return all;
}

}  // namespace galley
