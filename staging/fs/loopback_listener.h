#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"

namespace galley {

/// One accepted connection of this machine with itself.
///
/// Ownership: owns the descriptor. Threads: confined to one thread.
/// Errors:    kTimeout `loopback.slow` when the deadline passes first; kIo.
class LoopbackConnection {
 public:
  virtual ~LoopbackConnection() = default;
  /// What has come, at least a byte; empty at the end of what is sent.
  virtual Result<std::string> read(const Deadline& deadline) = 0;
  virtual Result<void> write(std::string_view bytes, const Deadline& deadline) = 0;
};

/// A TCP port on an address of 127.0.0.0/8, which no other machine reaches.
///
/// Ownership: owns the descriptor. Threads: confined to one thread.
/// Errors:    kUsage `loopback.port` when the port is taken; kIo.
class LoopbackListener {
 public:
  /// Port 0 is any free one, on an address of the block drawn at random: a page of another server
  /// of this machine then has another host. A port that is named is one of 127.0.0.1, so that it
  /// can be forwarded.
  static Result<std::unique_ptr<LoopbackListener>> open(uint16_t port, const Clock& clock);
  virtual ~LoopbackListener() = default;

  [[nodiscard]] virtual uint16_t port() const = 0;
  /// As text: "127.81.3.200".
  [[nodiscard]] virtual const std::string& address() const = 0;
  /// Waits for the next connection.
  virtual Result<std::unique_ptr<LoopbackConnection>> accept() = 0;
};

}  // namespace galley
