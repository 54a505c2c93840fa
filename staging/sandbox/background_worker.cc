#include "staging/sandbox/background_worker.h"

#include <utility>

namespace galley {

BackgroundWorker::~BackgroundWorker() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void BackgroundWorker::post(Job job) {
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return waiting_.size() < kMaxWaiting; });
    waiting_.push_back(std::move(job));
    if (!thread_.joinable()) thread_ = std::thread([this] { run_jobs(); });
  }
  changed_.notify_all();
}

void BackgroundWorker::finish() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return waiting_.empty() && !is_working_; });
}

Result<void> BackgroundWorker::take_failure() {
  const std::lock_guard lock(mutex_);
  if (!failure_) return {};
  return fail(*std::exchange(failure_, std::nullopt));
}

void BackgroundWorker::run_jobs() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return is_over_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    Job job = std::move(waiting_.front());
    waiting_.pop_front();
    is_working_ = true;
    lock.unlock();
    auto done = job();
    job = nullptr;
    lock.lock();
    is_working_ = false;
    if (!done && !failure_) failure_ = std::move(done.error());
    changed_.notify_all();
  }
}

}  // namespace galley
