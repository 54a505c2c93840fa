#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"

namespace galley {

/// An accepted connection from this machine.
///
/// Ownership: owns the descriptor. Threads: confined to one thread.
/// Errors:    kTimeout `loopback.slow` if the deadline passes first; kIo.
class LoopbackConnection {
 public:
  virtual ~LoopbackConnection() = default;
  virtual Result<void> write(std::string_view bytes, const Deadline& deadline) = 0;
};

/// Maximum number of connections that are read at the same time.
inline constexpr size_t kMaxLoopbackConnections = 16;

/// A listening TCP port on an address of 127.0.0.0/8, which other machines cannot reach.
///
/// Ownership: owns the descriptor. Threads: confined to one thread.
/// Errors:    kUsage `loopback.port` if the port is in use; kIo.
class LoopbackListener {
 public:
  /// Port 0 means any free port, on a random address of the block. So pages of other servers on
  /// this machine have another host. Any other port is opened on 127.0.0.1, so that it can be
  /// forwarded.
  static Result<std::unique_ptr<LoopbackListener>> open(uint16_t port, const Clock& clock);
  virtual ~LoopbackListener() = default;

  [[nodiscard]] virtual uint16_t port() const = 0;
  /// The address as text, such as "127.81.3.200".
  [[nodiscard]] virtual const std::string& address() const = 0;
  /// The bytes that a connection has sent, and the connection for the answer.
  struct Arrival {
    std::string bytes;
    std::unique_ptr<LoopbackConnection> connection;
  };
  /// Waits until `is_whole` is true for the bytes of a connection. All connections are read at the
  /// same time, so a partial request does not delay others. A connection that takes longer than
  /// `patience` is closed. Above kMaxLoopbackConnections, the oldest one is closed.
  virtual Result<Arrival> next(const std::function<bool(std::string_view)>& is_whole,
                               std::chrono::milliseconds patience) = 0;
};

}  // namespace galley
