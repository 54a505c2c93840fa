#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "server/nats/job.h"
#include "server/nats/job_book.h"
#include "server/nats/job_worker.h"
#include "server/nats/nats_config.h"

namespace galley {

class Telemetry;

/// The queue of jobs and their receipts in JetStream (docs/scale.md): a work queue for each
/// priority and slot of repositories, and a key-value bucket with one receipt for each job.
///
///     submit -> galley.jobs.PRIORITY.SLOT -> worker -> receipt in the JobBook -> acknowledged
///                      ^---- again after a crash or a transient error ----'
///
/// A dead job is also published at galley.dead.ID, each audit record and each receipt at
/// galley.audit.ID.
///
/// Invariant: a job is acknowledged only after its receipt is stored. A receipt is replaced only by
///            `committed`, when a silent worker has moved the branch after another one gave up, and
///            by a new claim, when a dead job was submitted again.
/// Ownership: owns the connection.
/// Threads:   confined to one thread.
/// Errors:    kUsage `nats.address`; kIo `nats.connection`, `nats.jetstream`.
class JobQueue {
 public:
  static constexpr uint32_t kMostLost = 10;        ///< workers that a job may lose; then it is dead
  static constexpr std::chrono::hours kTried{24};  ///< then a job that fails is dead
  static constexpr uint32_t kMostMissing = 5;  ///< tries to find a repository; then it is refused
  static constexpr size_t kMostShown = 1'000;  ///< receipts of one list
  static constexpr int64_t kMostWaiting = 1'000'000;  ///< jobs; a further one is refused

  [[nodiscard]] static Result<std::unique_ptr<JobQueue>> open(const std::string& address,
                                                              const NatsConfig& config);
  ~JobQueue();
  JobQueue(const JobQueue&) = delete;
  JobQueue& operator=(const JobQueue&) = delete;

  struct Submitted {
    std::string id;
    std::string digest;
    uint64_t dead = 0;  ///< the revision of the receipt that the job had before; 0: none
  };
  /// Checks and adds a job. One that was submitted before changes nothing, unless it is dead.
  /// Errors: those of parse_job; kInvalid `job.other_job`; kQuota `limit.jobs`.
  [[nodiscard]] Result<Submitted> submit(std::string_view text);
  /// What the book has of a job.
  [[nodiscard]] Result<JobBook::Entry> find(const std::string& id);
  /// Some receipts, at most kMostShown.
  [[nodiscard]] Result<std::vector<std::string>> receipts();
  /// Whether a job waits in the queue or is being performed. Looks at kMostShown of them; with more
  /// of them it may wrongly return true.
  [[nodiscard]] Result<bool> is_waiting(const std::string& id);
  /// How many jobs wait or are being performed.
  [[nodiscard]] Result<uint64_t> waiting();

  /// Tells of each delivery of a job; null: nothing.
  void report_to(Telemetry* telemetry);

  /// Performs jobs until `must_end` is true, highest priority first; repositories take turns. Then
  /// the running one may take `drain_ms`; if it is stopped, another worker performs it.
  [[nodiscard]] Result<void> serve(JobWorker& worker, const std::function<bool()>& must_end,
                                   const std::function<void(const std::string&)>& log);

  /// Whether the connection has ended for good: it is not made again.
  [[nodiscard]] bool is_closed() const;

 private:
  struct State;
  explicit JobQueue(std::unique_ptr<State> state);
  [[nodiscard]] Result<bool> has_job(const Submitted& job, uint64_t sequence);
  std::unique_ptr<State> state_;
};

}  // namespace galley
