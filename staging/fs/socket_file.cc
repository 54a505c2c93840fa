#include "staging/fs/socket_file.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/printable.h"
#include "staging/fs/user_state.h"

namespace galley {
namespace {

constexpr int kWaitingPeers = 128;
/// After a connection could not be accepted for lack of descriptors or memory.
constexpr int kAcceptPauseMs = 100;

Result<int> new_unix_socket() {
  const int descriptor = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (descriptor < 0) return fail(os_error(errno, "making", "a socket"));
  return descriptor;
}

Result<sockaddr_un> address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) {
    return fail(ErrorKind::kUsage, "listener.address",
                "the path of a socket file has 1 to " +
                    std::to_string(sizeof address.sun_path - 1) + " bytes");
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

/// Removes the socket file that a dead process left.
/// Errors: kRefused `listener.file` if the file is anything else.
Result<void> remove_dead_file(const std::string& path, const sockaddr_un& address) {
  struct stat found {};
  if (::lstat(path.c_str(), &found) != 0) return {};
  const auto refused = [&](const char* why) {
    return fail(ErrorKind::kRefused, "listener.file",
                "'" + printable_line(path) + "' " + why + ": name another file");
  };
  if (!S_ISSOCK(found.st_mode)) return refused("exists and is not a socket");
  if (!is_own_user(found.st_uid)) return refused("belongs to another user");
  GALLEY_ASSIGN(const int probe, new_unix_socket());
  const int connected =
      ::connect(probe, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  const bool is_dead = connected != 0 && errno == ECONNREFUSED;
  ::close(probe);
  if (!is_dead) return refused("is in use by another process");
  if (::unlink(path.c_str()) != 0) return fail(os_error(errno, "removing", path));
  return {};
}

}  // namespace

SocketFile::SocketFile(int descriptor, std::string path)
    : descriptor_(descriptor),
      stop_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      path_(std::move(path)) {
  struct stat made {};
  if (::lstat(path_.c_str(), &made) != 0) return;
  device_ = made.st_dev;
  inode_ = made.st_ino;
}

SocketFile::~SocketFile() {
  ::close(descriptor_);
  ::close(stop_);
  struct stat now {};
  const bool is_own_file =
      ::lstat(path_.c_str(), &now) == 0 && now.st_ino == inode_ && now.st_dev == device_;
  if (is_own_file) (void)::unlink(path_.c_str());
}

Result<std::unique_ptr<SocketFile>> SocketFile::make(const std::string& path) {
  GALLEY_ASSIGN(const sockaddr_un address, address_of(path));
  GALLEY_TRY(remove_dead_file(path, address));
  GALLEY_ASSIGN(const int descriptor, new_unix_socket());
  constexpr mode_t kPrivate = 0600;
  // The file gets the mode of the descriptor, so no other user can open it in between.
  if (::fchmod(descriptor, kPrivate) != 0 ||
      ::bind(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(descriptor, kWaitingPeers) != 0) {
    const Error error = os_error(errno, "listening on", path);
    ::close(descriptor);
    return fail(error);
  }
  return std::unique_ptr<SocketFile>(new SocketFile(descriptor, path));
}

Result<std::optional<SocketFile::Peer>> SocketFile::accept() const {
  for (;;) {
    std::array<pollfd, 2> waiting = {{{descriptor_, POLLIN, 0}, {stop_, POLLIN, 0}}};
    if (::poll(waiting.data(), waiting.size(), -1) < 0 && errno != EINTR) {
      return fail(os_error(errno, "waiting on", path_));
    }
    if (waiting[1].revents != 0) return std::optional<Peer>();
    const int accepted = ::accept4(descriptor_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (accepted >= 0) {
      if (const auto user = user_of_peer(accepted)) return std::optional(Peer{accepted, *user});
      ::close(accepted);
    } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      (void)::poll(&waiting[1], 1, kAcceptPauseMs);  // connections that end make room
    } else if (errno != EINTR && errno != ECONNABORTED && errno != EAGAIN) {
      return fail(os_error(errno, "accepting on", path_));
    }
  }
}

void SocketFile::stop() const { (void)::eventfd_write(stop_, 1); }

Result<SocketFile::Peer> connect_socket_file(const std::string& path) {
  GALLEY_ASSIGN(const sockaddr_un address, address_of(path));
  GALLEY_ASSIGN(const int descriptor, new_unix_socket());
  std::optional<uint32_t> user;
  if (::connect(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
    user = user_of_peer(descriptor);
  }
  if (user) return SocketFile::Peer{descriptor, *user};
  const Error error = os_error(errno, "connecting to", path);
  ::close(descriptor);
  return fail(error);
}

void close_connection(int descriptor) { ::close(descriptor); }

std::optional<uint32_t> user_of_peer(int connection) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return {};
  return peer.uid;
}

}  // namespace galley
