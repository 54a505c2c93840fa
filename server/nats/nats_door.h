#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "server/nats/nachos_runner.h"
#include "server/nats/nats_config.h"

namespace galley {

/// Serves the tools of a NachosRunner over NATS, in the subjects of docs/nats.md.
///
///     message -> lane of its session -> waiting -> worker -> reply
///        \-> refused at once: too large, too many, ending
///
/// Invariant: at most `most_waiting` requests of at most kMostWaitingBytes are held. The calls of a
///            session run one after the other in the order of their arrival, calls of several
///            sessions at once.
/// Ownership: owns the connection, the subscriptions and the worker threads; borrows the runner.
/// Threads:   confined to one thread. `log` is called on any thread, one line at a time.
/// Errors:    kUsage `nats.address`; kIo `nats.connection`, `nats.jetstream`; those of
///            NachosRunner::subjects.
class NatsDoor {
 public:
  static constexpr size_t kMostWaitingBytes = size_t{64} << 20U;  ///< of all requests together

  struct Options {
    std::string address;  ///< `nats://HOST:PORT` or `tls://HOST:PORT`
    NatsConfig config;
    std::function<void(const std::string& line)> log;
  };

  /// Connects, subscribes and publishes the manifests.
  [[nodiscard]] static Result<std::unique_ptr<NatsDoor>> open(NachosRunner& runner,
                                                              Options options);
  /// Stops the running calls, and waits for them.
  ~NatsDoor();
  NatsDoor(const NatsDoor&) = delete;
  NatsDoor& operator=(const NatsDoor&) = delete;

  /// Serves requests until `must_end` is true. Then it drains: it takes no new request and answers
  /// those that it has. A call that takes longer than `drain_ms` is stopped.
  /// Errors: kIo `nats.connection` if the server refuses this client for good.
  Result<void> serve(const std::function<bool()>& must_end);

 private:
  struct State;
  explicit NatsDoor(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace galley
