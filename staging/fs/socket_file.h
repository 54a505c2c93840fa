#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"

namespace galley {

/// A listening socket file of mode 0600.
///
/// Ownership: owns its descriptors. The destructor removes the file, if it is still the same one.
/// Threads:   confined to one thread, except stop().
/// Errors:    kUsage `listener.address`; kRefused `listener.file`; kIo.
class SocketFile {
 public:
  /// Makes the file. One that a dead process of this user left is replaced.
  static Result<std::unique_ptr<SocketFile>> make(const std::string& path);
  ~SocketFile();
  SocketFile(const SocketFile&) = delete;
  SocketFile& operator=(const SocketFile&) = delete;

  [[nodiscard]] int descriptor() const { return descriptor_; }
  [[nodiscard]] const std::string& path() const { return path_; }

  /// An accepted connection: a descriptor that the caller must close, and the user at its other end
  /// as the kernel knows it (SO_PEERCRED in unix(7)).
  struct Peer {
    int descriptor = -1;
    uint32_t user = 0;
  };
  /// Waits for a connection. Returns nothing after stop().
  Result<std::optional<Peer>> accept() const;
  /// Ends accept(), also a later one.
  void stop() const;

 private:
  SocketFile(int descriptor, std::string path);

  int descriptor_;
  int stop_;  ///< an eventfd
  std::string path_;
  uint64_t device_ = 0;
  uint64_t inode_ = 0;
};

/// Connects to a socket file. The user is that of the process that listens. The descriptor is the
/// caller's.
/// Errors: kUsage `listener.address`; kIo.
Result<SocketFile::Peer> connect_socket_file(const std::string& path);

/// Closes such a descriptor.
void close_connection(int descriptor);

/// Returns the user of the peer of a socket file's connection, as SocketFile::Peer has it.
[[nodiscard]] std::optional<uint32_t> user_of_peer(int connection);

}  // namespace galley
