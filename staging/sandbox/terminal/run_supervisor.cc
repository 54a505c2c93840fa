#include "staging/sandbox/terminal/run_supervisor.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <thread>
#include <utility>

namespace galley {
namespace {

using std::chrono::steady_clock;

constexpr size_t kOutputPieceBytes = size_t{16} << 10U;
constexpr size_t kLastOutputBytes = 4096;
constexpr std::chrono::milliseconds kAnnounceTime{1000};
constexpr int kLastStream = 2;
/// A client that does not wait for kRead is no longer read. The limit is higher than the client's
/// own, because input may be in transit when the program has read everything before it.
constexpr size_t kMaxInputBytes = 4 * kMaxRunUnsentBytes;

void never_block(int descriptor) {
  if (descriptor < 0) return;
  (void)fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK);
}

Fd watch_signals() {
  sigset_t ending;
  sigemptyset(&ending);
  for (const int one : {SIGTERM, SIGINT}) sigaddset(&ending, one);
  (void)sigprocmask(SIG_BLOCK, &ending, nullptr);
  return Fd(signalfd(-1, &ending, SFD_CLOEXEC | SFD_NONBLOCK));
}

}  // namespace

Result<ForkedSupervisor> fork_supervisor() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return os_error(errno, "cannot make a socket", "");
  }
  Fd parent(ends[0]);
  Fd child(ends[1]);
  const pid_t pid = fork();
  if (pid < 0) return os_error(errno, "cannot start the supervisor of the run", "");
  return ForkedSupervisor{pid == 0, pid == 0 ? std::move(child) : std::move(parent)};
}

void leave_terminal() {
  (void)setsid();
  (void)signal(SIGHUP, SIG_IGN);
  (void)signal(SIGPIPE, SIG_IGN);
  const Fd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  for (int fd = 0; null.is_open() && fd <= kLastStream; ++fd) (void)dup2(null.get(), fd);
}

RunSupervisor::RunSupervisor(LiveRun& run, Fd listener, RunPeer first)
    : run_(&run), listener_(std::move(listener)), signals_(watch_signals()) {
  clients_.push_back(std::move(first));
  for (const int one : {run.terminal(), run.input(), run.output(), run.errors()}) never_block(one);
  // The output of a terminal does not go through the pipes of the helper.
  has_errors_ = !is_terminal();
}

RunPeer* RunSupervisor::attached() {
  return attached_ < 0 ? nullptr : &clients_[static_cast<size_t>(attached_)];
}

void RunSupervisor::watch() {
  while (!has_ended_ || ((has_output_ || has_errors_) && !gives_up_)) turn();
  while (attached() != nullptr && attached()->has_unsent() && !gives_up_) turn();
}

/// The descriptors for poll(). -1 means not needed now.
struct RunSupervisor::Polled {
  enum Place : size_t { kControl, kOutput, kErrors, kInput, kListener, kSignals, kClients };
  std::array<pollfd, kClients + kMaxRunClients> all{};
  [[nodiscard]] bool has(size_t place) const { return all.at(place).revents != 0; }
};

void RunSupervisor::turn() {
  drop_gone();
  RunPeer* const client = attached();
  const bool has_room = client == nullptr || client->unsent_bytes() < kMaxRunUnsentBytes;
  const int output = is_terminal() ? run_->terminal() : run_->output();
  const int input = is_terminal() ? run_->terminal() : run_->input();
  Polled polled;
  for (pollfd& one : polled.all) one.fd = -1;
  if (!has_ended_) polled.all[Polled::kControl] = {run_->control(), POLLIN, 0};
  if (has_room && has_output_) polled.all[Polled::kOutput] = {output, POLLIN, 0};
  if (has_room && has_errors_) polled.all[Polled::kErrors] = {run_->errors(), POLLIN, 0};
  if (!input_.empty()) polled.all[Polled::kInput] = {input, POLLOUT, 0};
  if (clients_.size() < kMaxRunClients) {
    polled.all[Polled::kListener] = {listener_.get(), POLLIN, 0};
  }
  polled.all[Polled::kSignals] = {signals_.get(), POLLIN, 0};
  for (size_t i = 0; i < clients_.size(); ++i) {
    const bool is_heard = attached_ != static_cast<int>(i) || input_.size() < kMaxInputBytes;
    const int wanted = (is_heard ? POLLIN : 0) | (clients_[i].has_unsent() ? POLLOUT : 0);
    polled.all.at(Polled::kClients + i) = {clients_[i].descriptor(), static_cast<short>(wanted), 0};
  }
  if (poll(polled.all.data(), polled.all.size(), -1) < 0) return;  // EINTR
  if (polled.has(Polled::kOutput)) take_output(output, RunMessage::kOutput, has_output_);
  if (polled.has(Polled::kErrors)) take_output(run_->errors(), RunMessage::kErrors, has_errors_);
  if (polled.has(Polled::kControl)) {
    has_ended_ = true;
    drop_input();
  }
  if (polled.has(Polled::kInput)) give_input();
  if (polled.has(Polled::kSignals)) {
    signalfd_siginfo info;
    while (read(signals_.get(), &info, sizeof info) > 0) {
    }
    gives_up_ = has_ended_;
    run_->stop();
  }
  for (size_t i = 0; i < clients_.size(); ++i) {
    const short found = polled.all.at(Polled::kClients + i).revents;
    if ((found & POLLOUT) != 0) clients_[i].flush();
    if ((found & (POLLIN | POLLHUP | POLLERR)) != 0) hear(i);
  }
  if (polled.has(Polled::kListener)) accept();
}

/// Removes the clients that are gone; poll() would not report them.
void RunSupervisor::drop_gone() {
  if (attached_ >= 0 && !attached()->is_open()) detach();
  for (size_t i = clients_.size(); i-- > 0;) {
    if (clients_[i].is_open()) continue;
    clients_.erase(clients_.begin() + static_cast<std::ptrdiff_t>(i));
    if (attached_ > static_cast<int>(i)) --attached_;
  }
}

void RunSupervisor::take_output(int descriptor, RunMessage kind, bool& is_open) {
  std::array<char, kOutputPieceBytes> piece;
  const ssize_t got = read(descriptor, piece.data(), piece.size());
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) {
    // A terminal that no process has open will have no more output.
    if (errno == EAGAIN && has_ended_) is_open = false;
    return;
  }
  if (got <= 0) {
    is_open = false;  // EIO: the last process closed the terminal
    return;
  }
  const std::string_view text(piece.data(), static_cast<size_t>(got));
  if (RunPeer* const client = attached(); client != nullptr) client->send(kind, text);
  if (!is_terminal() && kind != RunMessage::kErrors) {
    last_output_ += text.substr(text.size() - std::min(text.size(), kLastOutputBytes));
    last_output_.erase(0, last_output_.size() - std::min(last_output_.size(), kLastOutputBytes));
    return;
  }
  backlog_ += text;
  if (backlog_.size() > 2 * kMaxRunBacklogBytes) {
    backlog_.erase(0, backlog_.size() - kMaxRunBacklogBytes);
  }
}

void RunSupervisor::give_input() {
  const int descriptor = is_terminal() ? run_->terminal() : run_->input();
  const ssize_t gave = write(descriptor, input_.data(), input_.size());
  if (gave < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (gave < 0) return drop_input();
  input_.erase(0, static_cast<size_t>(gave));
  if (!input_.empty()) return;
  if (input_ends_) run_->close_input();
  if (RunPeer* const client = attached(); client != nullptr) client->send(RunMessage::kRead, "");
}

/// The program no longer reads. What its client still sends is received, so that the client does
/// not wait.
void RunSupervisor::drop_input() {
  input_.clear();
  input_ends_ = true;
  run_->close_input();
}

void RunSupervisor::accept() {
  Fd client = accept_client(listener_.get());
  if (client.is_open()) clients_.emplace_back(std::move(client));
}

void RunSupervisor::hear(size_t client) {
  clients_[client].receive();
  while (auto frame = clients_[client].next()) {
    const bool is_attached = attached_ == static_cast<int>(client);
    const auto screen = RunScreen::decode(frame->text);
    if (frame->kind == RunMessage::kStop) {
      gives_up_ = has_ended_;
      run_->stop();
    } else if (frame->kind == RunMessage::kAttach && screen) {
      attach(client, *screen);
    } else if (frame->kind == RunMessage::kScreen && screen && is_attached) {
      set_screen(*screen);
    } else if (frame->kind == RunMessage::kRefresh && is_attached) {
      refreshed_.reset();
    } else if (frame->kind == RunMessage::kInput && is_attached && !input_ends_) {
      refresh_before_input();
      input_ += frame->text;
    } else if (frame->kind == RunMessage::kInputEnd && is_attached && !is_terminal()) {
      input_ends_ = true;
      if (input_.empty()) run_->close_input();
    }
  }
}

/// The input may be about files that a person has just saved.
void RunSupervisor::refresh_before_input() {
  constexpr std::chrono::seconds kInterval{1};
  const auto now = std::chrono::steady_clock::now();
  if (refreshed_ && now - *refreshed_ < kInterval) return;
  refreshed_ = now;
  run_->refresh();
}

void RunSupervisor::attach(size_t client, const RunScreen& screen) {
  if (!is_terminal()) {
    clients_[client].send(RunMessage::kFailed, "it was started without a terminal");
    return;
  }
  if (attached_ >= 0 && attached_ != static_cast<int>(client)) {
    attached()->send(RunMessage::kTaken, "");
  }
  attached_ = static_cast<int>(client);
  RunPeer& peer = clients_[client];
  peer.send(RunMessage::kBegun, "");
  const size_t from = backlog_.size() - std::min(backlog_.size(), kMaxRunBacklogBytes);
  for (size_t at = from; at < backlog_.size(); at += kOutputPieceBytes) {
    peer.send(RunMessage::kOutput, std::string_view(backlog_).substr(at, kOutputPieceBytes));
  }
  // A program redraws when its window's size changes, but not for an equal size.
  set_screen({screen.rows, static_cast<uint16_t>(screen.columns + 1)});
  set_screen(screen);
  if (on_attached) on_attached(true);
}

void RunSupervisor::detach() {
  attached_ = -1;
  if (on_attached) on_attached(false);
  if (!is_terminal()) run_->stop();
}

void RunSupervisor::set_screen(const RunScreen& screen) {
  if (!is_terminal()) return;
  const winsize size{screen.rows, screen.columns, 0, 0};
  (void)ioctl(run_->terminal(), TIOCSWINSZ, &size);
}

void RunSupervisor::finish(const std::function<void()>& work, std::string_view terminal_output) {
  constexpr int kEndedByStop = 3;
  const Fd done(eventfd(0, EFD_CLOEXEC));
  // Until this thread is joined, only it uses the clients.
  std::thread hearing([&] {
    if (!is_told_to_stop(done.get())) return;
    announce(RunMessage::kFailed, terminal_output);
    _exit(kEndedByStop);
  });
  work();
  (void)eventfd_write(done.get(), 1);
  hearing.join();
}

/// Waits for signals and clients; false when `done` is readable first.
bool RunSupervisor::is_told_to_stop(int done) {
  for (;;) {
    std::vector<pollfd> polled = {{done, POLLIN, 0}, {signals_.get(), POLLIN, 0}};
    const bool has_room = clients_.size() < kMaxRunClients;
    polled.push_back({has_room ? listener_.get() : -1, POLLIN, 0});
    const size_t before = polled.size();
    for (const RunPeer& client : clients_) polled.push_back({client.descriptor(), POLLIN, 0});
    if (poll(polled.data(), polled.size(), -1) < 0) continue;  // EINTR
    if (polled[0].revents != 0) return false;
    if (polled[1].revents != 0) return true;
    for (size_t i = before; i < polled.size(); ++i) {
      RunPeer& client = clients_[i - before];
      if (polled[i].revents != 0) client.receive();
      while (const auto frame = client.next()) {
        if (frame->kind == RunMessage::kStop) return true;
      }
    }
    if (polled[2].revents != 0) accept();
  }
}

void RunSupervisor::announce(RunMessage kind, std::string_view text) {
  const auto until = steady_clock::now() + kAnnounceTime;
  for (RunPeer& client : clients_) client.send(kind, text);
  for (RunPeer& client : clients_) {
    while (client.is_open() && client.has_unsent() && steady_clock::now() < until) {
      pollfd one{client.descriptor(), POLLOUT, 0};
      constexpr int kLookMs = 50;
      (void)poll(&one, 1, kLookMs);
      client.flush();
    }
  }
}

}  // namespace galley
