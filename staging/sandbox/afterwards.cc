#include "staging/sandbox/afterwards.h"

#include <utility>

namespace galley {

Afterwards::~Afterwards() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Afterwards::post(Work work) {
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return waiting_.size() < kMaxWaiting; });
    waiting_.push_back(std::move(work));
    if (!thread_.joinable()) thread_ = std::thread([this] { work_on(); });
  }
  changed_.notify_all();
}

void Afterwards::finish() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return waiting_.empty() && !is_working_; });
}

Result<void> Afterwards::take_failure() {
  const std::lock_guard lock(mutex_);
  if (!failure_) return {};
  return fail(*std::exchange(failure_, std::nullopt));
}

void Afterwards::work_on() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return is_over_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    Work work = std::move(waiting_.front());
    waiting_.pop_front();
    is_working_ = true;
    lock.unlock();
    auto done = work();
    work = nullptr;
    lock.lock();
    is_working_ = false;
    if (!done && !failure_) failure_ = std::move(done.error());
    changed_.notify_all();
  }
}

}  // namespace galley
