#include "staging/sandbox/early_end.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>

namespace galley {
namespace {

constexpr std::array<int, 5> kEndingSignals = {SIGTERM, SIGINT, SIGQUIT, SIGHUP, SIGPIPE};
constexpr unsigned char kFinished = 0;

/// The sandbox has the same limit. It drops the changes, so this must be first.
std::chrono::milliseconds time_before(std::chrono::milliseconds limit) {
  constexpr std::chrono::milliseconds kMostAhead{500};
  return limit - std::min(kMostAhead, limit / 10);
}

std::array<int, 2> wake_pipe = {-1, -1};
std::array<struct sigaction, kEndingSignals.size()> usual_actions = {};

void wake_watcher(unsigned char byte) { (void)!::write(wake_pipe[1], &byte, 1); }

extern "C" void note_ending_signal(int signal) {
  const int saved = errno;
  wake_watcher(static_cast<unsigned char>(signal));
  errno = saved;
}

/// SIGPIPE is ignored instead: messages for a reader that has ended come before the commit.
void restore_actions() {
  for (size_t i = 0; i < kEndingSignals.size(); ++i) {
    if (kEndingSignals[i] != SIGPIPE)
      (void)sigaction(kEndingSignals[i], &usual_actions[i], nullptr);
  }
  (void)std::signal(SIGPIPE, SIG_IGN);
}

}  // namespace

EarlyEnd::EarlyEnd(std::chrono::milliseconds limit) : limit_(limit) {
  for (size_t i = 0; i < kEndingSignals.size(); ++i) {
    (void)sigaction(kEndingSignals[i], nullptr, &usual_actions[i]);
    const bool is_for_caller = kEndingSignals[i] != SIGPIPE;
    if (is_for_caller && usual_actions[i].sa_handler == SIG_IGN) continue;  // as nohup asks
    struct sigaction action = {};
    action.sa_handler = note_ending_signal;
    action.sa_flags = SA_RESTART;
    (void)sigaction(kEndingSignals[i], &action, nullptr);
  }
  watcher_ = std::thread([this] { watch(); });
}

Result<std::unique_ptr<EarlyEnd>> EarlyEnd::begin(std::chrono::milliseconds limit) {
  if (pipe2(wake_pipe.data(), O_CLOEXEC | O_NONBLOCK) != 0) {
    return os_error(errno, "cannot make a pipe", "");
  }
  return std::unique_ptr<EarlyEnd>(new EarlyEnd(limit));
}

EarlyEnd::~EarlyEnd() {
  finish();
  restore_actions();
  for (int& end : wake_pipe) {
    (void)close(end);
    end = -1;
  }
}

void EarlyEnd::finish() {
  if (!watcher_.joinable()) return;
  wake_watcher(kFinished);
  watcher_.join();
  if (signal_ == 0) restore_actions();
}

void EarlyEnd::watch() {
  using Steady = std::chrono::steady_clock;
  const auto end = Steady::now() + time_before(limit_);
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Steady::now()).count();
    constexpr int64_t kLongest = 3'600'000;
    const int wait_ms =
        limit_.count() == 0 ? -1 : static_cast<int>(std::clamp<int64_t>(left, 0, kLongest));
    pollfd polled = {wake_pipe[0], POLLIN, 0};
    const int ready = poll(&polled, 1, wait_ms);
    if (ready < 0) continue;
    if (ready == 0 && Steady::now() < end) continue;
    unsigned char byte = kFinished;
    if (ready > 0 && (read(wake_pipe[0], &byte, 1) != 1 || byte == kFinished)) return;
    was_late_ = ready == 0;
    signal_ = byte;
    stop_.request_stop();
    return;
  }
}

}  // namespace galley
