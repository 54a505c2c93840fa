#include "staging/sandbox/terminal/run_socket.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <array>
#include <cerrno>
#include <cstring>

namespace galley {

namespace {

constexpr const char* kName = "socket";
constexpr int kWaiting = 8;
constexpr size_t kReceivedPieceBytes = size_t{64} << 10U;

/// The path leads through the descriptor of the directory, because sun_path has only 108 bytes.
sockaddr_un address_in(int directory) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = "/proc/self/fd/" + std::to_string(directory) + "/" + kName;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  return address;
}

Fd make_socket(int flags) { return Fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0)); }

}  // namespace

Result<Fd> listen_for_clients(int directory) {
  Fd listener = make_socket(SOCK_NONBLOCK);
  const sockaddr_un address = address_in(directory);
  (void)unlinkat(directory, kName, 0);  // of a supervisor that was killed
  const mode_t before = umask(S_IRWXG | S_IRWXO | S_IXUSR);
  const bool is_bound =
      bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  const int why = errno;
  umask(before);
  if (!is_bound) return os_error(why, "cannot make the socket of the run", kName);
  if (listen(listener.get(), kWaiting) != 0) {
    return os_error(errno, "cannot listen on the socket of the run", kName);
  }
  return listener;
}

Fd accept_client(int listener) {
  Fd client(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  ucred peer{};
  socklen_t size = sizeof peer;
  const bool is_known =
      client.is_open() && getsockopt(client.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0;
  if (!is_known || (peer.uid != geteuid() && peer.uid != 0)) return {};
  return client;
}

Result<Fd> connect_to_supervisor(int directory) {
  Fd client = make_socket(0);
  const sockaddr_un address = address_in(directory);
  if (connect(client.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return fail(ErrorKind::kNotFound, "run.not_reachable",
                "the supervisor of this run has ended; see the result with: galley status");
  }
  return client;
}

void RunPeer::send(RunMessage kind, std::string_view text) {
  if (!is_open()) return;
  unsent_ += run_frame(kind, text);
  flush();
}

void RunPeer::flush() {
  while (is_open() && !unsent_.empty()) {
    const ssize_t sent =
        ::send(descriptor(), unsent_.data(), unsent_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    // What the peer said before it went is still received.
    if (sent < 0) return unsent_.clear();
    unsent_.erase(0, static_cast<size_t>(sent));
  }
}

void RunPeer::receive() {
  std::array<char, kReceivedPieceBytes> piece;
  ssize_t got = 0;
  do {
    got = recv(descriptor(), piece.data(), piece.size(), MSG_DONTWAIT);
  } while (got < 0 && errno == EINTR);
  if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
  if (got > 0) reader_.feed({piece.data(), static_cast<size_t>(got)});
  if (got <= 0 || reader_.is_broken()) close();
}

namespace {

constexpr size_t kHeaderBytes = 1 + sizeof(uint32_t);

}  // namespace

std::string RunScreen::encode() const {
  std::string bytes(2 * sizeof(uint16_t), '\0');
  std::memcpy(bytes.data(), &rows, sizeof rows);
  std::memcpy(bytes.data() + sizeof rows, &columns, sizeof columns);
  return bytes;
}

std::optional<RunScreen> RunScreen::decode(std::string_view bytes) {
  RunScreen screen;
  if (bytes.size() != sizeof screen.rows + sizeof screen.columns) return std::nullopt;
  std::memcpy(&screen.rows, bytes.data(), sizeof screen.rows);
  std::memcpy(&screen.columns, bytes.data() + sizeof screen.rows, sizeof screen.columns);
  return screen;
}

std::string run_frame(RunMessage kind, std::string_view text) {
  const auto size = static_cast<uint32_t>(text.size());
  std::string bytes(kHeaderBytes, static_cast<char>(kind));
  std::memcpy(bytes.data() + 1, &size, sizeof size);
  return bytes.append(text);
}

std::optional<RunFrameReader::Frame> RunFrameReader::next() {
  if (is_broken_ || pending_.size() < kHeaderBytes) return std::nullopt;
  uint32_t size = 0;
  std::memcpy(&size, pending_.data() + 1, sizeof size);
  is_broken_ = size > kMaxRunFrameBytes;
  if (is_broken_ || pending_.size() < kHeaderBytes + size) return std::nullopt;
  Frame frame{static_cast<RunMessage>(pending_.front()), pending_.substr(kHeaderBytes, size)};
  pending_.erase(0, kHeaderBytes + size);
  return frame;
}

}  // namespace galley
