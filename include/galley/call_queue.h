#pragma once

#include <galley/tool.h>
#include <galley/transaction.h>

#include <condition_variable>
#include <future>
#include <list>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>

namespace galley {

/// Calls of tools in one transaction, made by a thread of its own, so that the caller need not wait
/// for them.
///
/// Invariant: the calls run one at a time, in the order of submit(), as Transaction::call() runs
///            them: checked, staged and recorded.
/// Ownership: owns the transaction and its thread; the workspace of the transaction must outlive
///            it. The destructor stops the running call and all waiting ones, waits for their
///            results, and destroys the transaction.
/// Threads:   several threads may submit() at once. Functions in the options of a call are called
///            on its own thread; a `confirm` that waits holds up the destructor. They must not end
///            the queue.
/// Errors:    those of Transaction::call(), in the CallResult. kTimeout `call.cancelled` for a
///            call whose `stop` was requested, or that the destructor stopped. kInternal
///            `tool.threw` if a function in the options throws. kUsage `transaction.over` after
///            the end.
class Transaction::CallQueue {
 public:
  explicit CallQueue(Transaction transaction);
  ~CallQueue();
  CallQueue(const CallQueue&) = delete;
  CallQueue& operator=(const CallQueue&) = delete;

  /// Adds a call and returns at once. The future always gets a result, never an exception. If it is
  /// dropped, the call runs nevertheless.
  [[nodiscard]] std::future<CallResult> submit(std::string tool, std::string json_arguments,
                                               CallOptions options = {});
  /// Waits for all calls and returns the transaction, for example to commit it. Call it once.
  [[nodiscard]] Transaction finish();

 private:
  struct Call;
  void work(const std::stop_token& ended);
  void make(Call& call, const std::stop_token& ended);

  Transaction transaction_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::list<Call> calls_;
  bool is_closed_ = false;
  std::jthread thread_;  ///< uses all other members, so it ends first
};

}  // namespace galley
