#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <stop_token>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/result.h"

namespace galley {

/// How many calls of one tool there may be at once and in a minute, and what one of them takes.
struct ToolQuota {
  uint32_t max_concurrent = 10;
  uint32_t max_queued = 100;      ///< calls that wait for one of these to end
  uint32_t calls_per_minute = 0;  ///< 0: no limit
  std::chrono::milliseconds cool_down{60'000};
  uint64_t memory_bytes = 0;  ///< that the programs of a call may take; 0: it runs none
};

/// Counts the calls of each tool of a workspace, and the memory that their programs may take.
///
/// A call that finds all places taken waits its turn, first come first served. One that is too many
/// in a minute is refused, and so is every other until the cool-down has passed. Programs run when
/// what they may take fits into kMaxAllToolsBytes beside those that run; one that may take more
/// than that runs alone.
///
/// Ownership: borrows the clock, which must outlive it.
/// Threads:   safe to share; waits on the caller's thread.
/// Errors:    kQuota `limit.tool_queue`, `limit.tool_memory`, `limit.rate`; kTimeout
///            `tool.queue_timeout`, `call.cancelled`.
class ToolQuotas {
 public:
  explicit ToolQuotas(const Clock& clock) : clock_(&clock) {}

  /// One call's place; given back when it goes.
  class Place {
   public:
    Place(ToolQuotas& quotas, std::string tool, uint64_t memory_bytes)
        : quotas_(&quotas), tool_(std::move(tool)), memory_bytes_(memory_bytes) {}
    Place(Place&& other) noexcept
        : quotas_(other.quotas_),
          tool_(std::move(other.tool_)),
          memory_bytes_(other.memory_bytes_) {
      other.quotas_ = nullptr;
    }
    Place& operator=(Place&&) = delete;
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    ~Place() {
      if (quotas_ != nullptr) quotas_->leave(tool_, memory_bytes_);
    }

   private:
    ToolQuotas* quotas_;
    std::string tool_;
    uint64_t memory_bytes_;
  };

  /// How a call waits for its place.
  struct Wait {
    Deadline deadline;
    std::stop_token stop = {};
    bool may_wait = true;  ///< a call within a call does not: the two could wait for each other
  };

  Result<Place> enter(const std::string& tool, const ToolQuota& quota, const Wait& wait);
  /// The tool's service asked for less: no call for so long.
  void cool_down(const std::string& tool, std::chrono::milliseconds span);
  /// How long no call is let through; zero when one may be made.
  [[nodiscard]] std::chrono::milliseconds cold_for(const std::string& tool) const;

 private:
  struct Count {
    uint32_t running = 0;
    std::deque<uint64_t> queue;                               ///< tickets, the first is next
    std::deque<std::chrono::steady_clock::time_point> begun;  ///< in the last minute
    std::chrono::steady_clock::time_point cold_until = std::chrono::steady_clock::time_point::min();
  };

  Result<void> check_rate(const std::string& tool, const ToolQuota& quota, Count& count) const;
  Result<void> take_place(const std::string& tool, const ToolQuota& quota, const Wait& wait,
                          std::unique_lock<std::mutex>& lock);
  Result<void> take_memory(const std::string& tool, uint64_t bytes, const Wait& wait,
                           std::unique_lock<std::mutex>& lock);
  /// Whether `ready` came to hold before the call's time was over or somebody stopped it.
  bool wait_until(const std::function<bool()>& ready, const Wait& wait,
                  std::unique_lock<std::mutex>& lock);
  void leave(const std::string& tool, uint64_t memory_bytes);

  const Clock* clock_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::map<std::string, Count> counts_;  ///< guarded by mutex_, as what follows
  uint64_t last_ticket_ = 0;
  uint64_t memory_in_use_ = 0;         ///< that programs which run may take
  std::deque<uint64_t> memory_queue_;  ///< tickets of those that wait for memory
};

}  // namespace galley
