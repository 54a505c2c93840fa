#include "staging/fs/loopback_listener.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>
#include <vector>

#include "base/random.h"

namespace galley {
namespace {

constexpr const char* kAddress = "127.0.0.1";
constexpr size_t kRequestPieceBytes = size_t{64} << 10U;
constexpr int kWaitingConnections = 128;
constexpr int kIdleSeconds = 60;

/// Waits until the descriptor is ready for `events`.
Result<void> wait_for(int descriptor, short events, const Deadline& deadline, const Clock& clock) {
  for (;;) {
    pollfd one{descriptor, events, 0};
    const int wait = deadline.is_never() ? -1 : static_cast<int>(deadline.left(clock).count());
    const int ready = ::poll(&one, 1, wait);
    if (ready > 0) return {};
    if (ready == 0) {
      return fail(ErrorKind::kTimeout, "loopback.slow",
                  "the other side of a connection is too slow");
    }
    if (errno != EINTR) return fail(os_error(errno, "waiting on", kAddress));
  }
}

class SocketConnection final : public LoopbackConnection {
 public:
  SocketConnection(int descriptor, const Clock& clock) : descriptor_(descriptor), clock_(clock) {}
  ~SocketConnection() override { ::close(descriptor_); }
  SocketConnection(const SocketConnection&) = delete;
  SocketConnection& operator=(const SocketConnection&) = delete;

  [[nodiscard]] int descriptor() const { return descriptor_; }

  /// Appends available bytes to `bytes`. Returns false if no more will arrive.
  bool hear(std::string& bytes) const {
    std::array<char, kRequestPieceBytes> piece;
    const ssize_t count = ::recv(descriptor_, piece.data(), piece.size(), MSG_DONTWAIT);
    if (count < 0) return errno == EINTR || errno == EAGAIN;
    bytes.append(piece.data(), static_cast<size_t>(count));
    return count > 0;
  }

  Result<void> write(std::string_view bytes, const Deadline& deadline) override {
    while (!bytes.empty()) {
      GALLEY_TRY(wait_for(descriptor_, POLLOUT, deadline, clock_));
      const ssize_t count =
          ::send(descriptor_, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
      if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
      if (count < 0) return fail(os_error(errno, "writing to", kAddress));
      bytes.remove_prefix(static_cast<size_t>(count));
    }
    return {};
  }

 private:
  int descriptor_;
  const Clock& clock_;
};

std::string address_text(const sockaddr_in& address) {
  constexpr unsigned kByteBits = 8;
  const uint32_t number = ntohl(address.sin_addr.s_addr);
  std::string text;
  for (unsigned shift = 4 * kByteBits; shift > 0; shift -= kByteBits) {
    if (!text.empty()) text += '.';
    text += std::to_string(number >> (shift - kByteBits) & 0xFFU);
  }
  return text;
}

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

class SocketListener final : public LoopbackListener {
 public:
  SocketListener(int descriptor, const sockaddr_in& address, const Clock& clock)
      : descriptor_(descriptor),
        port_(ntohs(address.sin_port)),
        address_(address_text(address)),
        clock_(clock) {}
  ~SocketListener() override { ::close(descriptor_); }
  SocketListener(const SocketListener&) = delete;
  SocketListener& operator=(const SocketListener&) = delete;

  [[nodiscard]] uint16_t port() const override { return port_; }
  [[nodiscard]] const std::string& address() const override { return address_; }

  Result<Arrival> next(const std::function<bool(std::string_view)>& is_whole,
                       std::chrono::milliseconds patience) override {
    for (;;) {
      GALLEY_ASSIGN(const auto ready, wait_for_any());
      for (size_t i = guests_.size(); i-- > 0;) {
        Guest& guest = guests_[i];
        const auto at = guests_.begin() + static_cast<std::ptrdiff_t>(i);
        const bool is_ready = ready[i + 1].revents != 0;
        const bool goes_on =
            is_ready ? guest.connection->hear(guest.bytes) : !guest.deadline.has_passed(clock_);
        if (is_ready && goes_on && is_whole(guest.bytes)) {
          Arrival arrival{std::move(guest.bytes), std::move(guest.connection)};
          guests_.erase(at);
          return arrival;
        }
        if (!goes_on) guests_.erase(at);
      }
      if (ready[0].revents != 0) GALLEY_TRY(accept(patience));
    }
  }

 private:
  /// A connection that has not yet sent its complete request.
  struct Guest {
    std::unique_ptr<SocketConnection> connection;
    std::string bytes;
    Deadline deadline;
  };

  /// Waits for the listener or a guest. Returns the listener, then the guests, in the form of
  /// poll().
  Result<std::vector<pollfd>> wait_for_any() const {
    std::vector<pollfd> all = {{descriptor_, POLLIN, 0}};
    int wait = -1;
    for (const Guest& guest : guests_) {
      all.push_back({guest.connection->descriptor(), POLLIN, 0});
      const int left = static_cast<int>(guest.deadline.left(clock_).count()) + 1;
      wait = wait < 0 ? left : std::min(wait, left);
    }
    if (::poll(all.data(), all.size(), wait) >= 0 || errno == EINTR) return all;
    return fail(os_error(errno, "waiting on", kAddress));
  }

  Result<void> accept(std::chrono::milliseconds patience) {
    const int accepted = ::accept4(descriptor_, nullptr, nullptr, SOCK_CLOEXEC);
    if (accepted < 0) {
      if (errno == EINTR || errno == ECONNABORTED || errno == EAGAIN) return {};
      return fail(os_error(errno, "accepting on", kAddress));
    }
    if (guests_.size() >= kMaxLoopbackConnections) guests_.erase(guests_.begin());
    guests_.push_back({std::make_unique<SocketConnection>(accepted, clock_), "",
                       Deadline::after(clock_, patience)});
    return {};
  }

  int descriptor_;
  uint16_t port_;
  std::string address_;
  const Clock& clock_;
  std::vector<Guest> guests_;  ///< the oldest first
};

}  // namespace

Result<std::unique_ptr<LoopbackListener>> LoopbackListener::open(uint16_t port,
                                                                 const Clock& clock) {
  const int descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (descriptor < 0) return fail(os_error(errno, "making a socket on", kAddress));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(port == 0 ? random_loopback_address() : INADDR_LOOPBACK);
  address.sin_port = htons(port);
  socklen_t size = sizeof address;
  // Browsers open connections that they may never use. So a connection is accepted only when data
  // arrives.
  const int idle_seconds = kIdleSeconds;
  // A given port can be reused at once after the previous listener.
  const int on = 1;
  (void)::setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  (void)::setsockopt(descriptor, IPPROTO_TCP, TCP_DEFER_ACCEPT, &idle_seconds, sizeof idle_seconds);
  auto* plain = reinterpret_cast<sockaddr*>(&address);
  if (::bind(descriptor, plain, size) != 0 || ::listen(descriptor, kWaitingConnections) != 0 ||
      ::getsockname(descriptor, plain, &size) != 0) {
    const Error error = os_error(errno, "listening on", kAddress);
    ::close(descriptor);
    if (port == 0) return fail(error);
    return fail(ErrorKind::kUsage, "loopback.port",
                "port " + std::to_string(port) + " cannot be used: " + error.message +
                    "; without --port any free one is taken");
  }
  return std::make_unique<SocketListener>(descriptor, address, clock);
}

}  // namespace galley
