#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "base/result.h"

namespace galley {

/// Runs queued clean-up jobs, in order, on one thread.
///
/// Ownership: the destructor runs every posted job before it returns.
/// Threads:   safe to share. The first job starts the thread.
class BackgroundWorker {
 public:
  using Job = std::function<Result<void>()>;
  /// Jobs in the queue; post() waits while it is full.
  static constexpr size_t kMaxWaiting = 64;

  BackgroundWorker() = default;
  ~BackgroundWorker();
  BackgroundWorker(const BackgroundWorker&) = delete;
  BackgroundWorker& operator=(const BackgroundWorker&) = delete;

  void post(Job job);
  /// Returns when every posted job has ended.
  void finish();
  /// Returns the first failure of a job since the last call.
  [[nodiscard]] Result<void> take_failure();

 private:
  void run_jobs();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> waiting_;
  bool is_working_ = false;
  bool is_over_ = false;
  std::optional<Error> failure_;
  std::thread thread_;
};

}  // namespace galley
