#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"
#include "staging/sandbox/helper/fd.h"
#include "staging/sandbox/terminal/run_frames.h"

namespace galley {

/// Listens on the socket `socket` (0600) in an open directory; a path of any length can lead there.
/// Errors: kIo.
[[nodiscard]] Result<Fd> listen_for_clients(int directory);

/// Takes a client that belongs to this user or is root. Closed when there is none.
[[nodiscard]] Fd accept_client(int listener);

/// Connects to the supervisor that listens in an open directory.
/// Errors: kNotFound `run.not_reachable` when nobody does.
[[nodiscard]] Result<Fd> connect_to_supervisor(int directory);

/// One side of a conversation; never blocks.
///
/// Invariant: what is sent is delivered in order, or the peer is gone.
/// Ownership: owns the socket. Threads: confined to one thread.
class RunPeer {
 public:
  explicit RunPeer(Fd socket) : socket_(std::move(socket)) {}

  [[nodiscard]] int descriptor() const { return socket_.get(); }
  [[nodiscard]] bool is_open() const { return socket_.is_open(); }
  void close() { socket_ = Fd(); }

  /// Puts a message into the queue and sends what the socket takes.
  void send(RunMessage kind, std::string_view text);
  [[nodiscard]] bool has_unsent() const { return !unsent_.empty(); }
  [[nodiscard]] size_t unsent_bytes() const { return unsent_.size(); }
  /// Sends more of the queue.
  void flush();
  /// Reads what is there; closes when the peer is gone or breaks the format.
  void receive();
  [[nodiscard]] std::optional<RunFrameReader::Frame> next() { return reader_.next(); }

 private:
  Fd socket_;
  std::string unsent_;
  RunFrameReader reader_;
};

}  // namespace galley
