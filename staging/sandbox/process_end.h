#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>

namespace galley {

/// The time limit of an operation. A time of 0 means no limit.
class TimeLimit {
 public:
  explicit TimeLimit(std::chrono::milliseconds time) {
    if (time.count() > 0) end_ = std::chrono::steady_clock::now() + time;
  }
  /// For poll(2).
  [[nodiscard]] int poll_ms() const;

 private:
  std::optional<std::chrono::steady_clock::time_point> end_;
};

/// Whether a child of this process ends before the limit. Without a limit, or if that cannot be
/// determined, the answer is true at once, because the caller can then only wait.
[[nodiscard]] bool has_ended_by(pid_t child, const TimeLimit& limit);

/// Ends a child of this process and what it started: by SIGTERM, and after `grace` by SIGKILL. What
/// outlived the process that started it is not found (proc_pid_children(5)). Returns false if the
/// child still runs, for example because it has another user's rights.
[[nodiscard]] bool end_tree(pid_t child, std::chrono::milliseconds grace);

}  // namespace galley
