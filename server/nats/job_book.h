#pragma once

#include <nats/nats.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "server/nats/job.h"

namespace galley {

inline constexpr int64_t kNsOfSecond = 1'000'000'000;
inline constexpr const char* kNoRepository =
    "job.no_repository";  ///< of a try that may be repeated

/// The claims and receipts of jobs in a key-value bucket. A job has one key: its claim while it is
/// performed, then its receipt.
///
///     none -> claim -> claim of another worker -> receipt
///
/// The revision of a claim is a fencing token: a worker that was suspended, and whose job was given
/// to another one meanwhile, cannot store a receipt with its own old claim. Only `committed` is
/// stored without the newest claim, and replaces any other receipt, because it tells what is on the
/// branch.
///
/// Ownership: owns its handle; borrows the context.
/// Threads:   confined to one thread.
/// Errors:    kIo `nats.jetstream`.
class JobBook {
 public:
  struct Entry {
    std::string receipt;  ///< empty: the job has not ended
    std::string job;      ///< Job::digest; empty: not known
    JobReceipt::Outcome outcome = JobReceipt::Outcome::kCommitted;  ///< of the receipt
    uint64_t revision = 0;                                          ///< 0: the book has no such job
    uint32_t lost = 0;     ///< of a claim: how many workers of the job died or fell silent
    int64_t since_s = 0;   ///< of a claim: when the first worker began, since 1970
    bool is_held = false;  ///< of a claim: no worker has released it
    uint32_t tries = 0;    ///< of a claim: how many tries failed
    uint32_t missing = 0;  ///< of them: how many found no repository
    std::string met;       ///< of a claim: the message of the last one; empty: none failed

    /// Whether the job ended, and its branch has the change.
    [[nodiscard]] bool is_success() const {
      return !receipt.empty() && (outcome == JobReceipt::Outcome::kCommitted ||
                                  outcome == JobReceipt::Outcome::kUnchanged);
    }
  };

  /// Checks that a job is the known one of its id. An empty digest is not compared.
  /// Errors: kInvalid `job.other_job`.
  [[nodiscard]] static Result<void> check_same(const std::string& id, const std::string& digest,
                                               const std::string& known);

  [[nodiscard]] static Result<JobBook> open(jsCtx* context);

  [[nodiscard]] Result<Entry> find(const std::string& id) const;
  /// Some receipts, at most `most`.
  [[nodiscard]] Result<std::vector<std::string>> receipts(size_t most) const;
  /// Replaces this entry by a held claim. The claim of a worker that did not release it counts as
  /// lost. Fails if another worker was faster.
  Result<Entry> claim(const std::string& id, const std::string& digest, const Entry& last) const;
  /// Notes that the job waits for another delivery, and the error of the try that failed; null:
  /// none did. If that fails, the claim counts as lost.
  void release(const std::string& id, const Entry& claim, const Error* met) const;
  /// Stores a receipt. Returns false if another worker has claimed the job since.
  Result<bool> settle(const JobReceipt& receipt, uint64_t claim) const;

 private:
  struct StoreDeleter {
    void operator()(kvStore* store) const { kvStore_Destroy(store); }
  };
  explicit JobBook(kvStore* store) : store_(store) {}
  natsStatus put(const std::string& id, Entry& claim) const;
  std::unique_ptr<kvStore, StoreDeleter> store_;
};

}  // namespace galley
