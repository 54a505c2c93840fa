#pragma once

#include <chrono>
#include <memory>
#include <stop_token>
#include <thread>

#include "base/result.h"

namespace galley {

/// Ends a command shortly before its time limit, when a signal asks this process to end, or when
/// nobody reads its output any longer. So what the command changed until then can be committed.
///
/// Invariant: from begin() to finish(), SIGTERM, SIGINT, SIGQUIT and SIGHUP do not end this
///            process. After a signal this stays so until the destructor. From begin() on, SIGPIPE
///            never ends it.
/// Threads:   one object at a time per process.
class EarlyEnd {
 public:
  /// A limit of 0 means none.
  static Result<std::unique_ptr<EarlyEnd>> begin(std::chrono::milliseconds limit);
  EarlyEnd(const EarlyEnd&) = delete;
  EarlyEnd& operator=(const EarlyEnd&) = delete;
  ~EarlyEnd();

  /// For Command::end.
  [[nodiscard]] std::stop_token token() const { return stop_.get_token(); }
  /// Stops watching. Call it when the command has ended.
  void finish();
  /// After finish(): whether the time limit ended the command.
  [[nodiscard]] bool was_late() const { return was_late_; }
  /// After finish(): the signal that ended the command, or 0.
  [[nodiscard]] int signal() const { return signal_; }

 private:
  explicit EarlyEnd(std::chrono::milliseconds limit);
  void watch();

  std::stop_source stop_;
  std::chrono::milliseconds limit_;
  bool was_late_ = false;
  int signal_ = 0;
  std::thread watcher_;
};

}  // namespace galley
