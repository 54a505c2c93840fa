#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "server/nats/answer_book.h"

namespace galley {

/// The state that the processes of a queue group share, in two buckets of JetStream's key-value
/// store: the process that holds each session, and the results of calls.
///
/// A lease is taken by compare-and-swap, so one of several processes gets it. It lasts a day, but a
/// process takes over the lease of one that left the server.
///
/// Ownership: borrows the connection (`natsConnection*` of cnats).
/// Threads:   safe to share.
/// Errors:    kIo `nats.jetstream`.
class SharedRecord final : public SharedAnswers {
 public:
  /// Opens the buckets of a queue group, or makes them. `holder` is the name of this process, which
  /// makes `calls_at_once` calls at once: begin() lets fewer of them wait.
  [[nodiscard]] static Result<std::unique_ptr<SharedRecord>> open(void* connection,
                                                                  const std::string& group,
                                                                  std::string holder,
                                                                  uint32_t calls_at_once);
  ~SharedRecord() override;
  SharedRecord(const SharedRecord&) = delete;
  SharedRecord& operator=(const SharedRecord&) = delete;

  static constexpr size_t kHolderDigits = 32;  ///< of the name of a process, in hexadecimal

  struct Lease {
    std::string holder = {};  ///< a valid name; empty: no process holds the session
    uint64_t revision = 0;    ///< of the key; 0: it does not exist
  };
  [[nodiscard]] const std::string& holder() const { return holder_; }
  [[nodiscard]] Result<Lease> lease_of(const std::string& session);
  /// Takes the lease if it is still `last`. Returns false if another process was faster.
  [[nodiscard]] Result<bool> take(const std::string& session, const Lease& last);
  [[nodiscard]] Result<void> drop(const std::string& session);

  /// Whether a process has left the server. One that is slow has not.
  [[nodiscard]] bool is_gone(const std::string& holder) const;
  /// The subject on which a process hears of the sessions that it holds, or of kPing.
  [[nodiscard]] static std::string subject_of(const std::string& holder, const std::string& last);
  static constexpr const char* kPing = "ping";

  Result<std::optional<Answer>> begin(const std::string& session, const std::string& call_id,
                                      const std::string& hash,
                                      const std::stop_token& stop) override;
  void keep(const std::string& session, const std::string& call_id, const Answer& answer) override;
  void forget(const std::string& session, const std::string& call_id) override;
  /// Makes the buckets that do not exist.
  Result<void> check() override;

 private:
  struct Buckets;
  SharedRecord(std::unique_ptr<Buckets> buckets, std::string holder, uint32_t calls_at_once);
  std::unique_ptr<Buckets> buckets_;
  std::string holder_;
  uint32_t calls_at_once_;
  std::atomic<uint32_t> waiting_ = 0;  ///< calls in begin()
};

}  // namespace galley
