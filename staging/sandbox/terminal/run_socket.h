#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "staging/sandbox/helper/descriptors.h"

namespace galley {

/// What a run's supervisor and its clients say to each other: one byte for the kind, four for the
/// length of what follows.
enum class RunMessage : char {
  // client to supervisor
  kAttach = 'a',    ///< RunScreen: from now on its output goes here, and here alone
  kInput = 'i',     ///< bytes for the program
  kInputEnd = 'e',  ///< there will be no more
  kScreen = 'r',    ///< RunScreen: the window has another size now
  kStop = 's',      ///< end the program
  // supervisor to client
  kBegun = 'b',   ///< the program runs; text for the client
  kFailed = 'f',  ///< it does not, or this client cannot have it; text for the client
  kOutput = 'o',  ///< bytes that it wrote to its terminal or standard output
  kErrors = 'E',  ///< bytes that it wrote to its standard error
  kRead = 'R',    ///< the program has all of its input that came until now
  kTaken = 't',   ///< another client attached; this one has nothing any more
  kEnded = 'x',   ///< it has ended and what it wrote is staged; text for the client
};

/// Size of a terminal's window.
struct RunScreen {
  uint16_t rows = 24;
  uint16_t columns = 80;
  [[nodiscard]] std::string encode() const;
  [[nodiscard]] static std::optional<RunScreen> decode(std::string_view bytes);
};

/// What may wait for a client, or for the program, before nothing more is read from the other side.
/// A client sends so much input and waits for kRead: what it says besides is heard meanwhile.
inline constexpr size_t kMaxRunUnsentBytes = size_t{256} << 10U;
/// The most that one message carries; a peer that announces more is cut off.
inline constexpr size_t kMaxRunFrameBytes = size_t{64} << 10U;

/// Returns the message as it is sent. `text` has at most kMaxRunFrameBytes.
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
  /// The next whole message; nothing when more bytes are needed, or for good when is_broken().
  std::optional<Frame> next();
  /// The peer does not keep to the format.
  [[nodiscard]] bool is_broken() const { return is_broken_; }

 private:
  std::string pending_;
  bool is_broken_ = false;
};

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
