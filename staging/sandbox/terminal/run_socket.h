#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "staging/sandbox/helper/descriptors.h"

namespace galley {

/// The messages between a run's supervisor and its clients: one byte for the kind, four for the
/// length of the body.
enum class RunMessage : char {
  // client to supervisor
  kAttach = 'a',    ///< RunScreen: from now on only this client gets the output
  kRefresh = 'v',   ///< the next input may be about files that were changed a moment ago
  kInput = 'i',     ///< bytes for the program
  kInputEnd = 'e',  ///< end of the input
  kScreen = 'r',    ///< RunScreen: the window has a new size
  kStop = 's',      ///< end the program
  // supervisor to client
  kBegun = 'b',   ///< the program runs; text for the client
  kFailed = 'f',  ///< it does not run, or refuses this client; text for the client
  kOutput = 'o',  ///< bytes from its terminal or standard output
  kErrors = 'E',  ///< bytes from its standard error
  kRead = 'R',    ///< the program has received all of its input so far
  kTaken = 't',   ///< another client attached; this one gets nothing more
  kEnded = 'x',   ///< it has ended and its changes are staged; text for the client
};

/// Size of a terminal's window.
struct RunScreen {
  uint16_t rows = 24;
  uint16_t columns = 80;
  [[nodiscard]] std::string encode() const;
  [[nodiscard]] static std::optional<RunScreen> decode(std::string_view bytes);
};

/// The maximum number of bytes queued for a client or for the program. While a queue is full, the
/// other side is not read. A client sends this much input and waits for kRead, so that its other
/// messages are read meanwhile.
inline constexpr size_t kMaxRunUnsentBytes = size_t{256} << 10U;
/// The maximum size of one message; a peer that announces more is disconnected.
inline constexpr size_t kMaxRunFrameBytes = size_t{64} << 10U;

/// Returns the encoded message. `text` has at most kMaxRunFrameBytes.
[[nodiscard]] std::string run_frame(RunMessage kind, std::string_view text);

/// Takes messages out of a stream of bytes that arrives in pieces.
///
/// Threads: confined to one thread.
class RunFrameReader {
 public:
  struct Frame {
    RunMessage kind;
    std::string text;
  };
  void feed(std::string_view bytes) { pending_.append(bytes); }
  /// The next complete message; nothing when more bytes are needed, or when is_broken().
  std::optional<Frame> next();
  /// Returns whether the peer violated the format.
  [[nodiscard]] bool is_broken() const { return is_broken_; }

 private:
  std::string pending_;
  bool is_broken_ = false;
};

/// Listens on the socket `socket` (0600) in an open directory, whose path may have any length.
/// Errors: kIo.
[[nodiscard]] Result<Fd> listen_for_clients(int directory);

/// Accepts a client of this user or of root. Closed when there is none.
[[nodiscard]] Fd accept_client(int listener);

/// Connects to the supervisor that listens in an open directory.
/// Errors: kNotFound `run.not_reachable` when no supervisor listens.
[[nodiscard]] Result<Fd> connect_to_supervisor(int directory);

/// One side of a connection; never blocks.
///
/// Invariant: messages are delivered in order, or the peer is gone.
/// Ownership: owns the socket. Threads: confined to one thread.
class RunPeer {
 public:
  explicit RunPeer(Fd socket) : socket_(std::move(socket)) {}

  [[nodiscard]] int descriptor() const { return socket_.get(); }
  [[nodiscard]] bool is_open() const { return socket_.is_open(); }
  void close() { socket_ = Fd(); }

  /// Queues a message and sends as much as the socket accepts.
  void send(RunMessage kind, std::string_view text);
  [[nodiscard]] bool has_unsent() const { return !unsent_.empty(); }
  [[nodiscard]] size_t unsent_bytes() const { return unsent_.size(); }
  /// Sends more of the queue.
  void flush();
  /// Reads the available bytes; closes when the peer is gone or violates the format.
  void receive();
  [[nodiscard]] std::optional<RunFrameReader::Frame> next() { return reader_.next(); }

 private:
  Fd socket_;
  std::string unsent_;
  RunFrameReader reader_;
};

}  // namespace galley
