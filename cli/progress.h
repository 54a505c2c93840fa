#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace galley {

/// A line on stderr that says what is being done once it takes more than half a second; it is
/// rewritten in place and erased before anything else is written.
///
/// Invariant: writes nothing unless it was made to be shown.
/// Ownership: owns a thread from the first work_on() to its end.
/// Threads:   its functions are called on one thread.
class Progress {
 public:
  explicit Progress(bool is_shown) : is_shown_(is_shown) {}
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// What is done from now on; text without control characters, cut to `columns`.
  void work_on(std::string text, size_t columns);
  /// Nothing is being done, or something else is going to be written.
  void erase();

 private:
  using SteadyTime = std::chrono::steady_clock::time_point;
  void wait_and_show();
  void draw();

  bool is_shown_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string text_;  ///< empty: no work
  SteadyTime begun_;  ///< the work that text_ is a part of
  bool has_line_ = false;
  bool is_over_ = false;
  std::thread thread_;
};

}  // namespace galley
