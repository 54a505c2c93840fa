#pragma once

#include <grpcpp/grpcpp.h>

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <utility>

namespace galley {

/// A stream of messages to a client. Messages wait for the client only up to a limit.
///
/// Ownership: deletes itself when gRPC is done with it. `done` is called then, and never before
///            finish() or the end of the client.
/// Threads:   any may send.
template <class Message>
class MessageStream final : public grpc::ServerWriteReactor<Message> {
 public:
  static constexpr size_t kMostWaiting = 64;

  /// `ends_with_client`: nothing else calls finish().
  explicit MessageStream(bool ends_with_client, std::function<void()> done = {})
      : ends_with_client_(ends_with_client), done_(std::move(done)) {}

  /// Sends a message. Returns false if it is dropped: the stream is over, or too many wait.
  bool send(Message message) {
    const std::lock_guard lock(mutex_);
    return put(std::move(message));
  }
  /// The same, but waits while too many wait.
  void send_all(Message message) {
    std::unique_lock lock(mutex_);
    room_.wait(lock, [this] { return is_over_ || waiting_.size() < kMostWaiting; });
    (void)put(std::move(message));
  }
  /// Ends the stream after the messages that wait.
  void finish(grpc::Status status) {
    const std::lock_guard lock(mutex_);
    if (status_) return;
    status_ = std::move(status);
    if (waiting_.empty()) this->Finish(*status_);
  }
  [[nodiscard]] std::stop_token stop() const { return stop_.get_token(); }

  void OnWriteDone(bool is_sent) override {
    const std::lock_guard lock(mutex_);
    waiting_.pop_front();
    is_over_ |= !is_sent;
    if (is_over_) {
      while (!waiting_.empty()) waiting_.pop_back();
    }
    room_.notify_all();
    if (!waiting_.empty()) {
      this->StartWrite(&waiting_.front());
    } else if (status_) {
      this->Finish(*status_);
    }
  }
  void OnCancel() override {
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
      room_.notify_all();
    }
    stop_.request_stop();
    if (ends_with_client_) finish(grpc::Status::CANCELLED);
  }
  void OnDone() override {
    if (done_) done_();
    { const std::lock_guard lock(mutex_); }  // finish() may not have returned yet
    delete this;
  }

 private:
  bool put(Message message) {
    if (is_over_ || status_ || waiting_.size() >= kMostWaiting) return false;
    waiting_.push_back(std::move(message));
    if (waiting_.size() == 1) this->StartWrite(&waiting_.front());
    return true;
  }

  bool ends_with_client_;
  std::function<void()> done_;
  std::stop_source stop_;
  std::mutex mutex_;  ///< guards all of the following
  std::condition_variable room_;
  std::deque<Message> waiting_;  ///< the first one is being sent
  std::optional<grpc::Status> status_;
  bool is_over_ = false;
};

}  // namespace galley
