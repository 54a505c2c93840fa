#pragma once

#include <grpcpp/grpcpp.h>

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

namespace galley {

/// Threads for the calls of a server. A call that finds all busy waits; if too many wait, it is
/// refused.
/// Without memory for more threads it goes on with those it has.
///
/// Threads: safe to share.
class CallPool {
 public:
  static constexpr size_t kMostRunning = 32;
  static constexpr size_t kMostWaiting = 64;

  CallPool() = default;
  ~CallPool();  ///< waits for all calls
  CallPool(const CallPool&) = delete;
  CallPool& operator=(const CallPool&) = delete;

  /// Returns false if too many calls wait, or no thread can be started. The work must not throw.
  bool submit(std::function<void()> work);
  /// Whether a call runs or waits.
  [[nodiscard]] bool has_calls() const;

 private:
  void run();

  mutable std::mutex mutex_;  ///< guards all of the following
  std::condition_variable changed_;
  std::deque<std::function<void()>> waiting_;
  std::vector<std::thread> threads_;
  size_t idle_ = 0;
  bool is_over_ = false;
};

[[nodiscard]] grpc::Status overloaded();

/// Runs the work of a call. An exception is logged and ends only that call.
/// Errors: INTERNAL.
[[nodiscard]] grpc::Status guarded(const std::function<grpc::Status()>& work);

/// The status of a call that was stopped: its deadline has passed, or its client has left.
[[nodiscard]] grpc::Status stopped_status(const grpc::CallbackServerContext& context);

/// One call with one answer. It runs on a thread of the pool; the end of its client or deadline
/// requests the stop.
///
/// Ownership: deletes itself when gRPC is done with it.
class PooledCall final : public grpc::ServerUnaryReactor {
 public:
  using Work = std::function<grpc::Status(const std::stop_token& stop)>;

  static PooledCall* begin(CallPool& pool, const grpc::CallbackServerContext& context, Work work) {
    return new PooledCall(pool, context, std::move(work));
  }
  void OnCancel() override { stop_.request_stop(); }
  void OnDone() override { delete this; }

 private:
  PooledCall(CallPool& pool, const grpc::CallbackServerContext& context, Work work);
  std::stop_source stop_;
};

}  // namespace galley
