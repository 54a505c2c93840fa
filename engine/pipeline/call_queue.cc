#include <galley/call_queue.h>

#include <exception>
#include <optional>
#include <utility>

#include "base/result.h"
#include "tools/tool.h"

namespace galley {
namespace {

CallResult failed_call(ErrorKind kind, std::string reason, std::string message) {
  return ToolResult::failure(tool_error_from({kind, std::move(reason), std::move(message)}));
}

}  // namespace

struct Transaction::CallQueue::Call {
  std::string tool;
  std::string arguments;
  CallOptions options;
  std::promise<CallResult> result;
  std::stop_source stop = {};
};

Transaction::CallQueue::CallQueue(Transaction transaction)
    : transaction_(std::move(transaction)),
      thread_([this](const std::stop_token& ended) { work(ended); }) {}

Transaction::CallQueue::~CallQueue() {
  thread_.request_stop();
  {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
  }
  changed_.notify_one();
}

std::future<CallResult> Transaction::CallQueue::submit(std::string tool, std::string json_arguments,
                                                       CallOptions options) {
  Call call{std::move(tool), std::move(json_arguments), std::move(options), {}};
  std::future<CallResult> result = call.result.get_future();
  {
    const std::lock_guard lock(mutex_);
    if (is_closed_) {
      call.result.set_value(failed_call(ErrorKind::kUsage, "transaction.over",
                                        "the queue has ended; begin another transaction"));
      return result;
    }
    calls_.push_back(std::move(call));
  }
  changed_.notify_one();
  return result;
}

Transaction Transaction::CallQueue::finish() {
  {
    const std::lock_guard lock(mutex_);
    GALLEY_CHECK(!is_closed_);
    is_closed_ = true;
  }
  changed_.notify_one();
  thread_.join();
  return std::move(transaction_);
}

void Transaction::CallQueue::work(const std::stop_token& ended) {
  for (;;) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return is_closed_ || !calls_.empty(); });
    if (calls_.empty()) return;
    Call call = std::move(calls_.front());
    calls_.pop_front();
    lock.unlock();
    make(call, ended);
  }
}

/// A call that waits when the queue ends is made, too: its token is stopped already, so that it is
/// refused, recorded and answered as any other.
void Transaction::CallQueue::make(Call& call, const std::stop_token& ended) {
  std::optional<CallResult> result;
  {
    const auto request = [&call] { call.stop.request_stop(); };
    const std::stop_callback by_caller(call.options.stop, request);
    const std::stop_callback by_end(ended, request);
    call.options.stop = call.stop.get_token();
    try {
      result = transaction_.call(call.tool, call.arguments, call.options);
    } catch (const std::exception& thrown) {  // by a function in the options
      result = failed_call(ErrorKind::kInternal, "tool.threw", thrown.what());
    } catch (...) {
      result = failed_call(ErrorKind::kInternal, "tool.threw", "an exception of an unknown type");
    }
  }
  call.options = {};  // before the caller has the result: its functions may own the queue
  call.result.set_value(*std::move(result));
}

}  // namespace galley
