#include "staging/fs/local_listener.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/encoding.h"
#include "base/printable.h"
#include "staging/fs/socket_file.h"
#include "staging/fs/user_state.h"

namespace galley {
namespace {

constexpr size_t kPieceBytes = size_t{64} << 10U;
constexpr int kWaitingConnections = 128;
constexpr int kIdleSeconds = 60;
/// For a peer to take what was sent, or to close its side at the end.
constexpr std::chrono::seconds kSendTime{60};
constexpr std::chrono::seconds kCloseTime{2};
/// After a connection could not be accepted.
constexpr std::chrono::milliseconds kPause{100};
constexpr size_t kMaxPolls = 1000;  // of flush(): a peer may accept bytes one by one

/// Wakes the listener's thread from other threads.
class WakeUp {
 public:
  WakeUp() : descriptor_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  ~WakeUp() { ::close(descriptor_); }
  WakeUp(const WakeUp&) = delete;
  WakeUp& operator=(const WakeUp&) = delete;

  [[nodiscard]] int descriptor() const { return descriptor_; }
  void call() const { (void)::eventfd_write(descriptor_, 1); }
  void take() const {
    eventfd_t count = 0;
    (void)::eventfd_read(descriptor_, &count);
  }

 private:
  int descriptor_;
};

class SocketConnection final : public LocalConnection {
 public:
  SocketConnection(int descriptor, std::shared_ptr<const WakeUp> wake_up)
      : descriptor_(descriptor), wake_up_(std::move(wake_up)) {}
  ~SocketConnection() override { ::close(descriptor_); }
  SocketConnection(const SocketConnection&) = delete;
  SocketConnection& operator=(const SocketConnection&) = delete;

  [[nodiscard]] int descriptor() const { return descriptor_; }

  /// Appends available bytes to `bytes`. Returns false if no more will arrive.
  bool hear(std::string& bytes) const {
    std::array<char, kPieceBytes> piece;
    const ssize_t count = ::recv(descriptor_, piece.data(), piece.size(), MSG_DONTWAIT);
    if (count < 0) return errno == EINTR || errno == EAGAIN;
    bytes.append(piece.data(), static_cast<size_t>(count));
    return count > 0;
  }

  void send(std::string_view bytes) override {
    const std::lock_guard lock(mutex_);
    if (is_over_) return;
    if (unsent_.empty()) bytes.remove_prefix(send_now(bytes));
    if (bytes.empty() || is_over_) return;
    if (unsent_.size() + bytes.size() > kMaxUnsentBytes) return end(SHUT_RDWR);
    unsent_ += bytes;
    wake_up_->call();
  }

  void finish() override {
    const std::lock_guard lock(mutex_);
    is_finished_ = true;
    if (unsent_.empty()) end(SHUT_WR);
    wake_up_->call();  // the listener waits for the peer's end
  }

  /// Sends more of what is not sent yet. Returns whether the peer accepted bytes.
  bool flush() {
    const std::lock_guard lock(mutex_);
    if (unsent_.empty()) return false;
    const size_t count = send_now(unsent_);
    unsent_.erase(0, count);
    if (unsent_.empty() && is_finished_) end(SHUT_WR);
    return count > 0;
  }

  [[nodiscard]] bool has_unsent() const {
    const std::lock_guard lock(mutex_);
    return !unsent_.empty();
  }
  [[nodiscard]] bool is_finished() const {
    const std::lock_guard lock(mutex_);
    return is_finished_;
  }
  /// Nothing more can be sent, and the owner of the connection does not know it yet.
  [[nodiscard]] bool has_failed() const {
    const std::lock_guard lock(mutex_);
    return is_over_ && !is_finished_;
  }

 private:
  // Both are called under the lock.
  size_t send_now(std::string_view bytes) {
    for (;;) {
      const ssize_t count =
          ::send(descriptor_, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
      if (count >= 0) return static_cast<size_t>(count);
      if (errno == EINTR) continue;
      if (errno != EAGAIN) end(SHUT_RDWR);
      return 0;
    }
  }
  void end(int how) {
    is_over_ = true;
    unsent_.clear();
    ::shutdown(descriptor_, how);
    wake_up_->call();
  }

  int descriptor_;
  std::shared_ptr<const WakeUp> wake_up_;
  mutable std::mutex mutex_;  ///< guards the following
  std::string unsent_;
  bool is_finished_ = false;  ///< the owner called finish()
  bool is_over_ = false;      ///< nothing more is sent
};

class SocketListener final : public LocalListener {
 public:
  SocketListener(int descriptor, std::string name, const Clock& clock)
      : descriptor_(descriptor), name_(std::move(name)), clock_(clock) {}
  SocketListener(std::unique_ptr<SocketFile> file, const Clock& clock)
      : descriptor_(file->descriptor()),
        name_(file->path()),
        file_(std::move(file)),
        clock_(clock) {}
  ~SocketListener() override {
    if (file_ == nullptr) ::close(descriptor_);
  }
  SocketListener(const SocketListener&) = delete;
  SocketListener& operator=(const SocketListener&) = delete;

  [[nodiscard]] const std::string& name() const override { return name_; }

  Result<Event> next(const Wait& wait) override {
    for (;;) {
      GALLEY_ASSIGN(const auto ready, wait_for_any(wait.until));
      // What changes from here on wakes the next turn.
      if ((ready[1].revents & POLLIN) != 0) wake_up_->take();
      std::optional<Event> event;
      for (size_t i = guests_.size(); i-- > 0 && !event;) {
        if (!serve(guests_[i], ready[i + 2].revents, wait, event)) {
          guests_.erase(guests_.begin() + static_cast<std::ptrdiff_t>(i));
        }
      }
      if (ready[0].revents != 0) {
        const auto accepted = accept(wait.patience);
        if (!accepted && !event) return fail(accepted.error());
      }
      if (event) return *std::move(event);
      if (wait.until.has_passed(clock_)) return Event();
    }
  }

  void flush(const Deadline& deadline) override {
    for (size_t i = 0; i < kMaxPolls && !deadline.has_passed(clock_); ++i) {
      std::erase_if(guests_, [](const Guest& guest) {
        return !guest.is_heard || guest.connection->has_failed() ||
               (guest.connection->is_finished() && !guest.connection->has_unsent());
      });
      if (guests_.empty()) return;
      std::vector<pollfd> all;
      for (const Guest& guest : guests_)
        all.push_back({guest.connection->descriptor(), POLLOUT, 0});
      (void)::poll(all.data(), all.size(), static_cast<int>(deadline.left(clock_).count()));
      for (size_t k = 0; k < guests_.size(); ++k) {
        if (all[k].revents != 0) guests_[k].connection->flush();
      }
    }
  }

 private:
  struct Guest {
    std::shared_ptr<SocketConnection> connection;
    std::string bytes;
    Deadline deadline;        ///< for its request, for taking the answer, or for its end
    bool is_heard = false;    ///< its request was returned
    bool is_leaving = false;  ///< the answer was sent, and the peer must close its side
    bool is_sending = false;  ///< it has not taken all bytes yet
    size_t wanted = 1;        ///< bytes of a request, at least
  };

  /// Handles one guest. Returns false when it is over.
  bool serve(Guest& guest, short revents, const Wait& wait, std::optional<Event>& event) {
    if (!guest.is_heard) return read_request(guest, revents, wait, event);
    if (guest.connection->flush()) guest.deadline = Deadline::after(clock_, kSendTime);
    if (guest.connection->has_failed()) {
      event = Event{guest.connection, "", true};
      return false;
    }
    const bool was_sending = std::exchange(guest.is_sending, guest.connection->has_unsent());
    if (guest.is_sending && !was_sending) guest.deadline = Deadline::after(clock_, kSendTime);
    const bool is_finished = guest.connection->is_finished() && !guest.is_sending;
    if (is_finished && !std::exchange(guest.is_leaving, true)) {
      guest.deadline = Deadline::after(clock_, kCloseTime);
    }
    if (revents != 0 && (revents & POLLOUT) == 0) {
      guest.bytes.clear();  // the peer should send nothing more
      if (!guest.connection->hear(guest.bytes)) {
        if (!guest.is_leaving) event = Event{guest.connection, "", true};
        return false;
      }
    }
    if ((guest.is_sending || guest.is_leaving) && guest.deadline.has_passed(clock_)) {
      if (!guest.is_leaving) event = Event{guest.connection, "", true};
      return false;
    }
    return true;
  }

  bool read_request(Guest& guest, short revents, const Wait& wait, std::optional<Event>& event) {
    (void)guest.connection->flush();
    if (revents != 0 && !guest.connection->hear(guest.bytes)) return false;
    const bool is_late = guest.deadline.has_passed(clock_);
    if (guest.bytes.size() < guest.wanted) return !is_late;
    const Look seen = wait.look(guest.bytes);
    if (seen.missing > 0) {
      guest.wanted = guest.bytes.size() + seen.missing;
      if (!seen.reply.empty()) guest.connection->send(seen.reply);
      return !is_late;
    }
    guest.is_heard = true;
    event = Event{guest.connection, std::exchange(guest.bytes, {}), false};
    return true;
  }

  /// Waits for the listener, another thread or a guest. Returns them in this order, in the form of
  /// poll().
  Result<std::vector<pollfd>> wait_for_any(const Deadline& until) const {
    const bool is_paused = !pause_.has_passed(clock_);
    std::vector<pollfd> all = {{is_paused ? -1 : descriptor_, POLLIN, 0},
                               {wake_up_->descriptor(), POLLIN, 0}};
    int wait = until.is_never() ? -1 : static_cast<int>(until.left(clock_).count()) + 1;
    if (is_paused) {
      const int left = static_cast<int>(pause_.left(clock_).count()) + 1;
      wait = wait < 0 ? left : std::min(wait, left);
    }
    for (const Guest& guest : guests_) {
      const bool is_sending = guest.connection->has_unsent();
      all.push_back({guest.connection->descriptor(),
                     static_cast<short>(is_sending ? POLLIN | POLLOUT : POLLIN), 0});
      if (guest.connection->has_failed()) wait = 0;
      if (guest.is_heard && !is_sending && !guest.connection->is_finished()) continue;
      const int left = static_cast<int>(guest.deadline.left(clock_).count()) + 1;
      wait = wait < 0 ? left : std::min(wait, left);
    }
    if (::poll(all.data(), all.size(), wait) >= 0) return all;
    if (errno != EINTR) return fail(os_error(errno, "waiting on", name_));
    for (pollfd& one : all) one.revents = 0;
    return all;
  }

  Result<void> accept(std::chrono::milliseconds patience) {
    const int accepted = ::accept4(descriptor_, nullptr, nullptr, SOCK_CLOEXEC);
    if (accepted < 0) {
      if (errno == EINTR || errno == ECONNABORTED || errno == EAGAIN) return {};
      if (errno == EBADF || errno == EINVAL || errno == ENOTSOCK) {
        return fail(os_error(errno, "accepting on", name_));
      }
      // There is no descriptor or memory for it now. Connections that end make room.
      pause_ = Deadline::after(clock_, kPause);
      return {};
    }
    auto connection = std::make_shared<SocketConnection>(accepted, wake_up_);
    const auto is_reading = [](const Guest& guest) { return !guest.is_heard; };
    const auto is_leaving = [](const Guest& guest) {
      return guest.is_heard && guest.connection->is_finished() && !guest.connection->has_unsent();
    };
    const auto count = [this](const auto& is_such) {
      return static_cast<size_t>(std::count_if(guests_.begin(), guests_.end(), is_such));
    };
    const auto drop_oldest = [this](const auto& is_such) {
      const auto oldest = std::find_if(guests_.begin(), guests_.end(), is_such);
      if (oldest != guests_.end()) guests_.erase(oldest);
    };
    const size_t readers = count(is_reading);
    const size_t leaving = count(is_leaving);
    const size_t waiting = guests_.size() - readers - leaving;
    if (waiting >= kMaxLocalAnswers || !is_welcome(accepted)) return {};
    if (readers >= kMaxLocalReaders) drop_oldest(is_reading);
    if (leaving >= kMaxLocalAnswers) drop_oldest(is_leaving);
    const int on = 1;  // events are sent one by one, and each must arrive at once
    if (file_ == nullptr) (void)::setsockopt(accepted, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    guests_.push_back({std::move(connection), "", Deadline::after(clock_, patience)});
    return {};
  }

  /// Whether the peer of a socket file may use it.
  [[nodiscard]] bool is_welcome(int accepted) const {
    if (file_ == nullptr) return true;
    const auto user = user_of_peer(accepted);
    return user && (*user == effective_user() || *user == 0);
  }

  int descriptor_;
  std::string name_;
  std::unique_ptr<SocketFile> file_;  ///< null: a TCP port
  const Clock& clock_;
  std::shared_ptr<const WakeUp> wake_up_ = std::make_shared<const WakeUp>();
  std::vector<Guest> guests_;                     ///< the oldest first
  Deadline pause_ = Deadline::after(clock_, {});  ///< until then nothing is accepted
};

/// 127.x.y.z, where x, y and z are neither 0 nor 255.
uint32_t random_loopback_address() {
  constexpr uint32_t kBlock = 127;
  constexpr uint32_t kChoices = 254;
  std::array<uint8_t, 3> random{};
  fill_random(random);
  uint32_t address = kBlock;
  for (const uint8_t byte : random) address = address << 8U | (byte % kChoices + 1);
  return address;
}

Result<uint32_t> loopback_address(const std::string& text, uint16_t port) {
  if (text.empty()) return port == 0 ? random_loopback_address() : INADDR_LOOPBACK;
  if (text == "localhost") return INADDR_LOOPBACK;
  constexpr uint32_t kBlock = 127;
  constexpr unsigned kBlockShift = 24;
  in_addr read{};
  const bool is_address = ::inet_pton(AF_INET, text.c_str(), &read) == 1;
  const uint32_t address = ntohl(read.s_addr);
  if (is_address && address >> kBlockShift == kBlock) return address;
  return fail(ErrorKind::kUsage, "listener.address",
              "'" + printable_line(text) +
                  "' is not an address that only this machine can reach: take 127.0.0.1");
}

Result<int> new_socket(int family) {
  const int descriptor = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (descriptor < 0) return fail(os_error(errno, "making", "a socket"));
  return descriptor;
}

}  // namespace

Result<std::unique_ptr<LocalListener>> LocalListener::open_loopback(const std::string& address,
                                                                    uint16_t port,
                                                                    const Clock& clock) {
  GALLEY_ASSIGN(const uint32_t number, loopback_address(address, port));
  GALLEY_ASSIGN(const int descriptor, new_socket(AF_INET));
  sockaddr_in bound{};
  bound.sin_family = AF_INET;
  bound.sin_addr.s_addr = htonl(number);
  bound.sin_port = htons(port);
  socklen_t size = sizeof bound;
  std::array<char, INET_ADDRSTRLEN> text{};
  (void)::inet_ntop(AF_INET, &bound.sin_addr, text.data(), text.size());
  // Browsers open connections that they may never use. So a connection is accepted only when data
  // arrives.
  const int idle_seconds = kIdleSeconds;
  // A given port can be reused at once after the previous listener.
  const int on = 1;
  (void)::setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  (void)::setsockopt(descriptor, IPPROTO_TCP, TCP_DEFER_ACCEPT, &idle_seconds, sizeof idle_seconds);
  auto* plain = reinterpret_cast<sockaddr*>(&bound);
  if (::bind(descriptor, plain, size) != 0 || ::listen(descriptor, kWaitingConnections) != 0 ||
      ::getsockname(descriptor, plain, &size) != 0) {
    const Error error = os_error(errno, "listening on", text.data());
    ::close(descriptor);
    if (port == 0) return fail(error);
    return fail(ErrorKind::kUsage, "loopback.port",
                "port " + std::to_string(port) + " cannot be used: " + error.message +
                    "; with port 0 any free one is taken");
  }
  return std::make_unique<SocketListener>(
      descriptor, std::string(text.data()) + ":" + std::to_string(ntohs(bound.sin_port)), clock);
}

Result<std::unique_ptr<LocalListener>> LocalListener::open_file(const std::string& path,
                                                                const Clock& clock) {
  GALLEY_ASSIGN(auto file, SocketFile::make(path));
  return std::make_unique<SocketListener>(std::move(file), clock);
}

}  // namespace galley
