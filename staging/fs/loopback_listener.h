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

/// One accepted connection of this machine with itself.
///
/// Ownership: owns the descriptor. Threads: confined to one thread.
/// Errors:    kTimeout `loopback.slow` when the deadline passes first; kIo.
class LoopbackConnection {
 public:
  virtual ~LoopbackConnection() = default;
  virtual Result<void> write(std::string_view bytes, const Deadline& deadline) = 0;
};

/// Connections that are heard at one time.
inline constexpr size_t kMaxLoopbackGuests = 16;

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
  /// What a connection has sent, and where the answer goes.
  struct Arrival {
    std::string bytes;
    std::unique_ptr<LoopbackConnection> connection;
  };
  /// Waits until `is_whole` says yes to what a connection has sent. Connections are heard side by
  /// side, so one that sends half of it keeps no other waiting. One that takes longer than
  /// `patience` is closed, and the oldest where there are more than kMaxLoopbackGuests.
  virtual Result<Arrival> next(const std::function<bool(std::string_view)>& is_whole,
                               std::chrono::milliseconds patience) = 0;
};

}  // namespace galley
