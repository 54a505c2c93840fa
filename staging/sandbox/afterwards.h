#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "base/result.h"

namespace galley {

/// Does, on a thread of its own, what nobody has to wait for: one piece of work after the other.
///
/// Ownership: the destructor does all that was posted before it returns.
/// Threads:   safe to share. The thread is started by the first piece of work.
class Afterwards {
 public:
  using Work = std::function<Result<void>()>;
  /// Work that may wait its turn; beyond that post() waits too.
  static constexpr size_t kMaxWaiting = 64;

  Afterwards() = default;
  ~Afterwards();
  Afterwards(const Afterwards&) = delete;
  Afterwards& operator=(const Afterwards&) = delete;

  void post(Work work);
  /// Waits until nothing is left to do.
  void finish();
  /// The first failure since it was last asked for.
  [[nodiscard]] Result<void> take_failure();

 private:
  void work_on();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Work> waiting_;
  bool is_working_ = false;
  bool is_over_ = false;
  std::optional<Error> failure_;
  std::thread thread_;
};

}  // namespace galley
