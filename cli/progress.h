#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace galley {

/// A line on stderr that names the current work once it takes more than half a second, and after
/// two seconds the time that it takes. It is rewritten in place, and erased before other output.
///
/// Invariant: writes nothing unless `is_shown`.
/// Ownership: owns a thread from the first work_on() to its end.
/// Threads:   its functions are called on one thread.
class Progress {
 public:
  explicit Progress(bool is_shown) : is_shown_(is_shown) {}
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Sets the current work: text without control characters, cut to `columns`.
  void work_on(std::string text, size_t columns);
  /// Erases the line, at the end of the work or before other output.
  void erase();

 private:
  using SteadyTime = std::chrono::steady_clock::time_point;
  void wait_and_show();
  void draw();
  [[nodiscard]] std::chrono::seconds elapsed() const;

  bool is_shown_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string text_;  ///< empty: idle
  size_t columns_ = 0;
  SteadyTime begun_;  ///< start of the work that text_ belongs to
  bool has_line_ = false;
  bool is_over_ = false;
  std::thread thread_;
};

}  // namespace galley
