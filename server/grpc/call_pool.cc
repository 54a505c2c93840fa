#include "server/grpc/call_pool.h"

#include <chrono>
#include <cstdio>
#include <exception>
#include <system_error>

#include "base/printable.h"

namespace galley {

CallPool::~CallPool() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

bool CallPool::submit(std::function<void()> work) {
  std::unique_lock lock(mutex_);
  if (waiting_.size() >= kMostWaiting) return false;
  if (idle_ <= waiting_.size() && threads_.size() < kMostRunning) {
    try {
      threads_.emplace_back([this] { run(); });
    } catch (const std::system_error&) {
      if (threads_.empty()) return false;  // else the threads that exist do the work
    }
  }
  waiting_.push_back(std::move(work));
  lock.unlock();  // or the woken thread waits again, for the mutex
  changed_.notify_one();
  return true;
}

bool CallPool::has_calls() const {
  const std::lock_guard lock(mutex_);
  return idle_ < threads_.size() || !waiting_.empty();
}

void CallPool::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    ++idle_;
    changed_.wait(lock, [this] { return is_over_ || !waiting_.empty(); });
    --idle_;
    if (waiting_.empty()) return;
    const std::function<void()> work = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    work();
    lock.lock();
  }
}

grpc::Status overloaded() {
  return {grpc::StatusCode::RESOURCE_EXHAUSTED, "too many calls run and wait; try again later"};
}

grpc::Status guarded(const std::function<grpc::Status()>& work) {
  try {
    return work();
  } catch (const std::exception& error) {
    const std::string line =
        "galley-serve-grpc: unexpected: " + printable_line(error.what()) + "\n";
    std::fputs(line.c_str(), stderr);
    return {grpc::StatusCode::INTERNAL, "the call failed unexpectedly; the server's log has why"};
  }
}

grpc::Status stopped_status(const grpc::CallbackServerContext& context) {
  if (context.deadline() <= std::chrono::system_clock::now()) {
    return {grpc::StatusCode::DEADLINE_EXCEEDED, "the deadline of the call has passed"};
  }
  return {grpc::StatusCode::CANCELLED, "the client has left"};
}

PooledCall::PooledCall(CallPool& pool, const grpc::CallbackServerContext& context, Work work) {
  const bool is_taken = pool.submit([this, &context, work = std::move(work)] {
    const std::stop_token stop = stop_.get_token();
    const grpc::Status status =
        stop.stop_requested() ? stopped_status(context) : guarded([&] { return work(stop); });
    // This may delete the call.
    Finish(stop.stop_requested() ? stopped_status(context) : status);
  });
  if (!is_taken) Finish(overloaded());
}

}  // namespace galley
