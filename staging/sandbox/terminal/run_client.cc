#include "staging/sandbox/terminal/run_client.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <optional>
#include <utility>

#include "staging/sandbox/terminal/run_socket.h"

namespace galley {
namespace {

using std::chrono::steady_clock;

constexpr size_t kTypedPieceBytes = size_t{16} << 10U;

/// A terminal in raw mode: every typed byte goes to the program.
class RawTerminal {
 public:
  RawTerminal() {
    if (tcgetattr(STDIN_FILENO, &before_) != 0) return;
    termios raw = before_;
    cfmakeraw(&raw);
    is_raw_ = tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) == 0;
  }
  ~RawTerminal() {
    if (is_raw_) (void)tcsetattr(STDIN_FILENO, TCSADRAIN, &before_);
  }
  RawTerminal(const RawTerminal&) = delete;
  RawTerminal& operator=(const RawTerminal&) = delete;

 private:
  termios before_{};
  bool is_raw_ = false;
};

/// Blocks signals and reads them instead; the destructor restores the mask. A signal that the
/// caller of this program ignores, as nohup does, stays ignored.
class HeldSignals {
 public:
  HeldSignals() {
    sigset_t held;
    sigemptyset(&held);
    for (const int one : {SIGWINCH, SIGHUP, SIGTERM, SIGINT, SIGQUIT}) {
      struct sigaction usual {};
      (void)sigaction(one, nullptr, &usual);
      if (usual.sa_handler != SIG_IGN) sigaddset(&held, one);
    }
    (void)sigprocmask(SIG_BLOCK, &held, &before_);
    descriptor_ = Fd(signalfd(-1, &held, SFD_CLOEXEC | SFD_NONBLOCK));
  }
  ~HeldSignals() { (void)sigprocmask(SIG_SETMASK, &before_, nullptr); }
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;
  [[nodiscard]] int descriptor() const { return descriptor_.get(); }
  /// The next signal; 0 if there is none.
  [[nodiscard]] uint32_t next() const {
    signalfd_siginfo info;
    return read(descriptor(), &info, sizeof info) == sizeof info ? info.ssi_signo : 0;
  }

 private:
  sigset_t before_{};
  Fd descriptor_;
};

bool write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t wrote = write(descriptor, text.data(), text.size());
    if (wrote < 0 && errno == EAGAIN) {
      pollfd one{descriptor, POLLOUT, 0};
      (void)poll(&one, 1, -1);
      continue;
    }
    if (wrote < 0 && errno != EINTR) return false;
    if (wrote > 0) text.remove_prefix(static_cast<size_t>(wrote));
  }
  return true;
}

class RunAttachment {
 public:
  RunAttachment(Fd supervisor, const ClientOptions& options)
      : peer_(std::move(supervisor)), options_(options) {}

  ClientEnd run() {
    if (options_.attaches) peer_.send(RunMessage::kAttach, own_screen().encode());
    while (!end_) turn();
    return *std::move(end_);
  }

 private:
  void turn() {
    const bool takes_input =
        has_begun_ && has_input_ && !peer_.has_unsent() && unread_bytes_ < kMaxRunUnsentBytes;
    // A program that does not read what it asks a relay for is not heard until it does.
    const bool is_heard = peer_.unsent_bytes() < kRelayUnsentBytes;
    const int wanted = (is_heard ? POLLIN : 0) | (peer_.has_unsent() ? POLLOUT : 0);
    pollfd polled[3] = {{peer_.descriptor(), static_cast<short>(wanted), 0},
                        {takes_input ? STDIN_FILENO : -1, POLLIN, 0},
                        {signals_ ? signals_->descriptor() : -1, POLLIN, 0}};
    const int ready = poll(polled, 3, wait_ms());
    if (ready < 0) return;  // EINTR
    if (stop_at_ && steady_clock::now() >= *stop_at_) {
      stop_at_.reset();
      return stop();
    }
    if (ready == 0) return idle();
    if ((polled[0].revents & POLLOUT) != 0) peer_.flush();
    if ((polled[0].revents & ~POLLOUT) != 0) hear();
    if (polled[1].revents != 0) take_input();
    if (polled[2].revents != 0) heed_signals();
  }

  /// How long to wait for the next event: not at all if the relay has work to do meanwhile.
  [[nodiscard]] int wait_ms() const {
    if (options_.relay == nullptr) return -1;
    if (options_.relay->has_rest()) return 0;
    if (!stop_at_) return -1;
    using std::chrono::milliseconds;
    const auto left = std::chrono::ceil<milliseconds>(*stop_at_ - steady_clock::now());
    return static_cast<int>(std::max(left, milliseconds(0)).count());
  }

  void idle() {
    if (options_.relay == nullptr || !options_.relay->has_rest()) return;
    options_.relay->rest();
    pass_relayed();
  }

  /// Ends the program. If a relay's program does not read its input, the supervisor would not get
  /// to the message behind it: it stops the program when its client is gone.
  void stop() {
    const bool is_stuck = options_.relay != nullptr && peer_.has_unsent();
    if (is_stuck) return finish(ClientEnd::Reason::kStuck, "");
    peer_.send(RunMessage::kStop, "");
  }

  void pass_relayed() {
    const std::string output = options_.relay->for_output();
    if (!output.empty()) show(STDOUT_FILENO, output);
    if (options_.relay->needs_files()) peer_.send(RunMessage::kRefresh, "");
    const std::string input = options_.relay->for_program();
    for (size_t at = 0; at < input.size(); at += kTypedPieceBytes) {
      give(std::string_view(input).substr(at, kTypedPieceBytes));
    }
  }

  void hear() {
    peer_.receive();
    while (!end_) {
      const auto frame = peer_.next();
      if (!frame) break;
      take(*frame);
    }
    if (!end_ && !peer_.is_open()) finish(ClientEnd::Reason::kLost, "");
  }

  void take(const RunFrameReader::Frame& frame) {
    switch (frame.kind) {
      case RunMessage::kBegun:
        begin(frame.text);
        break;
      case RunMessage::kOutput:
        if (options_.relay != nullptr) {
          options_.relay->take_output(frame.text);
          return pass_relayed();
        }
        if (options_.is_terminal) modes_.see(frame.text);
        show(options_.output_to_stderr ? STDERR_FILENO : STDOUT_FILENO, frame.text);
        break;
      case RunMessage::kErrors:
        show(STDERR_FILENO, frame.text);
        break;
      case RunMessage::kRead:
        unread_bytes_ = 0;
        break;
      case RunMessage::kFailed:
        finish(ClientEnd::Reason::kFailed, frame.text);
        break;
      case RunMessage::kTaken:
        finish(ClientEnd::Reason::kTaken, "");
        break;
      case RunMessage::kEnded:
        finish(ClientEnd::Reason::kEnded, frame.text);
        break;
      default:
        break;
    }
  }

  void begin(const std::string& run) {
    if (has_begun_) return;
    run_ = run;
    has_begun_ = true;
    if (options_.relay != nullptr) options_.relay->begin(run);
    signals_.emplace();
    if (!options_.is_terminal) return;
    raw_.emplace();
    // If the window was resized before its signal was blocked, the program does not know the new
    // size.
    tell_screen();
  }

  void tell_screen() { peer_.send(RunMessage::kScreen, own_screen().encode()); }

  void show(int descriptor, const std::string& text) {
    if (is_deaf_ || write_all(descriptor, text)) return;
    is_deaf_ = true;  // `| head` has closed the pipe: the program need not continue
    if (options_.is_terminal) {
      finish(ClientEnd::Reason::kDetached, "");
    } else {
      stop();
    }
  }

  void take_input() {
    std::array<char, kTypedPieceBytes> piece;
    const ssize_t got = read(STDIN_FILENO, piece.data(), piece.size());
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (got > 0) {
      pass_on({piece.data(), static_cast<size_t>(got)});
      return;
    }
    has_input_ = false;
    if (options_.is_terminal) {
      finish(ClientEnd::Reason::kDetached, "");
    } else {
      if (options_.relay != nullptr) stop_at_ = steady_clock::now() + kRelayGrace;
      peer_.send(RunMessage::kInputEnd, "");
    }
  }

  void pass_on(std::string_view typed) {
    if (options_.relay != nullptr) {
      options_.relay->take_input(typed);
      return pass_relayed();
    }
    if (!options_.is_terminal) {
      give(typed);
      return;
    }
    const DetachKeys::Typed keys = options_.detach_keys.take(typed);
    if (!keys.passed.empty()) give(keys.passed);
    if (!keys.detaches) return;
    finish(ClientEnd::Reason::kDetached, "");
    (void)write_all(STDOUT_FILENO, "\r\n");  // the cursor is where the program left it
  }

  void give(std::string_view input) {
    unread_bytes_ += input.size();
    peer_.send(RunMessage::kInput, input);
  }

  void heed_signals() {
    while (const uint32_t one = signals_->next()) {
      if (one == SIGWINCH) {
        if (options_.is_terminal) tell_screen();
      } else if (options_.is_terminal) {
        finish(ClientEnd::Reason::kDetached, "");
      } else {
        stop();
      }
    }
  }

  void finish(ClientEnd::Reason why, const std::string& text) {
    if (end_) return;
    if (options_.relay != nullptr) {
      options_.relay->end();
      pass_relayed();
    }
    end_ = ClientEnd{why, text, run_};
    const std::string restore = modes_.restore();
    if (!restore.empty() && !is_deaf_) (void)write_all(STDOUT_FILENO, restore);
  }

  RunPeer peer_;
  ClientOptions options_;
  std::optional<HeldSignals> signals_;
  std::optional<RawTerminal> raw_;
  std::optional<ClientEnd> end_;
  std::string run_;
  TerminalModes modes_;
  size_t unread_bytes_ = 0;  ///< input bytes sent since the last kRead
  bool has_begun_ = false;
  bool has_input_ = true;
  bool is_deaf_ = false;
  /// A relay's input has ended, and its program has time to end until then.
  std::optional<steady_clock::time_point> stop_at_;
};

constexpr char kEscape = '\x1b';
constexpr size_t kMaxSequenceBytes = 64;
constexpr int kCursor = 25;  // on by default
/// Application keys, alternate screens, the mouse, focus, pasted text.
constexpr std::array kKnown = {1,    9,    kCursor, 47,   1000, 1002, 1003,
                               1004, 1005, 1006,    1015, 1047, 1049, 2004};

}  // namespace

RunScreen own_screen() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0) {
    return {};
  }
  return {size.ws_row, size.ws_col};
}

ClientEnd attach_to_run(Fd supervisor, const ClientOptions& options) {
  (void)signal(SIGPIPE, SIG_IGN);
  return RunAttachment(std::move(supervisor), options).run();
}

ClientEnd stop_run(Fd supervisor) {
  RunPeer peer(std::move(supervisor));
  peer.send(RunMessage::kStop, "");
  while (peer.is_open()) {
    pollfd one{peer.descriptor(), POLLIN, 0};
    if (poll(&one, 1, -1) < 0) continue;
    peer.receive();
    while (auto frame = peer.next()) {
      if (frame->kind == RunMessage::kEnded) return {ClientEnd::Reason::kEnded, frame->text, ""};
      if (frame->kind == RunMessage::kFailed) return {ClientEnd::Reason::kFailed, frame->text, ""};
    }
  }
  return {};
}

void TerminalModes::see(std::string_view output) {
  for (const char byte : output) {
    if (byte == kEscape) {
      sequence_ = byte;
      continue;
    }
    if (sequence_.empty()) continue;
    sequence_ += byte;
    const bool is_start = sequence_.size() == 2;
    const bool is_last = !is_start && byte >= '@' && byte <= '~';
    if (is_last) take(std::string_view(sequence_).substr(2, sequence_.size() - 3), byte);
    const bool is_none = is_start && byte != '[';
    if (is_last || is_none || sequence_.size() > kMaxSequenceBytes) sequence_.clear();
  }
}

void TerminalModes::take(std::string_view body, char last) {
  const char mark = body.empty() ? '\0' : body.front();
  if (last == 'u' && mark == '>') ++keyboards_;
  const bool sets = mark == '?' && (last == 'h' || last == 'l');
  const bool pops = mark == '<' && last == 'u';
  if (!sets && !pops) return;
  body.remove_prefix(1);
  int number = 1;
  if (pops) {
    (void)std::from_chars(body.data(), body.data() + body.size(), number);
    keyboards_ -= std::clamp(number, 0, keyboards_);
    return;
  }
  while (!body.empty()) {
    number = 0;
    (void)std::from_chars(body.data(), body.data() + body.size(), number);
    body.remove_prefix(std::min(body.find(';'), body.size() - 1) + 1);
    if (std::find(kKnown.begin(), kKnown.end(), number) == kKnown.end()) continue;
    if ((last == 'h') != (number == kCursor)) {
      changed_.insert(number);
    } else {
      changed_.erase(number);
    }
  }
}

std::string TerminalModes::restore() const {
  std::string text;
  if (keyboards_ > 0) text += "\x1b[<" + std::to_string(keyboards_) + "u";
  for (const int mode : changed_) {
    text += "\x1b[?" + std::to_string(mode) + (mode == kCursor ? "h" : "l");
  }
  return text.empty() ? text : text + "\x1b[0m";
}

}  // namespace galley
