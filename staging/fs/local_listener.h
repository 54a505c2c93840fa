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

/// Connections that have not yet sent a whole request.
inline constexpr size_t kMaxLocalReaders = 16;
/// Connections that have sent their request and wait for an answer. As many others may have got
/// theirs and not closed their side yet; above, the oldest of those is closed.
inline constexpr size_t kMaxLocalAnswers = 256;
/// Bytes that one connection has not accepted yet. Above, it is closed.
inline constexpr size_t kMaxUnsentBytes = size_t{32} << 20U;

/// An accepted connection from this machine, which has sent a whole request.
///
/// Threads: any; bytes of one call stay together.
/// Errors:  none: bytes for a peer that has left are dropped.
class LocalConnection {
 public:
  virtual ~LocalConnection() = default;
  /// Sends bytes without waiting. Those that the peer does not accept at once are sent while
  /// LocalListener::next() waits.
  virtual void send(std::string_view bytes) = 0;
  /// Closes the connection when everything was sent.
  virtual void finish() = 0;
};

/// A listening socket that only programs on this machine can reach: a TCP port on an address of
/// 127.0.0.0/8, or a socket file.
///
/// Ownership: owns its descriptors and connections. A socket file is removed at the end.
/// Threads:   confined to one thread.
/// Errors:    kUsage `listener.address`, `loopback.port`; kRefused `listener.file`; kIo.
class LocalListener {
 public:
  /// Port 0 means any free port. An empty address means a random one of the block with port 0, so
  /// that pages of other servers on this machine have another host. With another port it means
  /// 127.0.0.1, so that the port can be forwarded.
  static Result<std::unique_ptr<LocalListener>> open_loopback(const std::string& address,
                                                              uint16_t port, const Clock& clock);
  /// Makes a socket file of mode 0600. One that a dead process left is replaced. Connections of
  /// other users are closed, except those of root.
  static Result<std::unique_ptr<LocalListener>> open_file(const std::string& path,
                                                          const Clock& clock);
  virtual ~LocalListener() = default;

  /// "127.81.3.200:4711", or the path of the file.
  [[nodiscard]] virtual const std::string& name() const = 0;

  struct Event {
    std::shared_ptr<LocalConnection> connection;  ///< null: nothing happened until `until`
    std::string bytes;                            ///< the request; empty if is_closed
    bool is_closed = false;                       ///< the peer of an unanswered request has left
  };
  struct Look {
    size_t missing = 0;           ///< bytes that the request lacks at least; 0: it is whole
    std::string_view reply = {};  ///< to send meanwhile
  };
  struct Wait {
    /// Looks at the bytes of a connection. It is called again when the missing ones are there.
    std::function<Look(std::string_view)> look;
    std::chrono::milliseconds patience{0};  ///< a connection that takes longer is closed
    Deadline until = {};                    ///< when to return without an event
  };
  /// Waits for a request or the end of an answered connection. All connections are read at the same
  /// time, so a partial request does not delay others. Above kMaxLocalReaders, the oldest of them
  /// is closed.
  virtual Result<Event> next(const Wait& wait) = 0;
  /// Sends what is not sent yet and closes all finished connections, before the deadline.
  virtual void flush(const Deadline& deadline) = 0;
};

}  // namespace galley
