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

/// The limits of one tool: calls at once, calls per minute, and the memory of one call.
struct ToolQuota {
  uint32_t max_concurrent = 10;
  uint32_t max_queued = 100;      ///< calls that wait until another one ends
  uint32_t calls_per_minute = 0;  ///< 0: no limit
  std::chrono::milliseconds cool_down{60'000};
  uint64_t memory_bytes = 0;  ///< memory for the programs of a call; 0: it runs none
  /// Identifies the transaction whose programs share kMaxAllToolsBytes; never dereferenced.
  const void* sharer = nullptr;
};

/// Counts the calls of each tool of a workspace, and the memory that their programs may use.
///
/// If all places are taken, a call waits; the queue is first in, first out. A call over the limit
/// per minute is refused, and so is every other call until the cool-down has passed. A call with
/// programs starts when its memory limit and those of the running calls of its transaction fit into
/// kMaxAllToolsBytes. A call with a larger limit runs alone in its transaction.
///
/// Ownership: borrows the clock, which must outlive it.
/// Threads:   safe to share; waits on the caller's thread.
/// Errors:    kQuota `limit.tool_queue`, `limit.tool_memory`, `limit.rate`; kTimeout
///            `tool.queue_timeout`, `call.cancelled`.
class ToolQuotas {
 public:
  explicit ToolQuotas(const Clock& clock) : clock_(&clock) {}

  /// The place of one call, freed by the destructor.
  class Place {
   public:
    Place(ToolQuotas& quotas, std::string tool, const ToolQuota& quota)
        : quotas_(&quotas),
          tool_(std::move(tool)),
          memory_bytes_(quota.memory_bytes),
          sharer_(quota.sharer) {}
    Place(Place&& other) noexcept
        : quotas_(other.quotas_),
          tool_(std::move(other.tool_)),
          memory_bytes_(other.memory_bytes_),
          sharer_(other.sharer_) {
      other.quotas_ = nullptr;
    }
    Place& operator=(Place&&) = delete;
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    ~Place() {
      if (quotas_ != nullptr) quotas_->leave(tool_, memory_bytes_, sharer_);
    }

   private:
    ToolQuotas* quotas_;
    std::string tool_;
    uint64_t memory_bytes_;
    const void* sharer_;
  };

  /// How long a call may wait for its place.
  struct Wait {
    Deadline deadline;
    std::stop_token stop = {};
    bool may_wait = true;  ///< false for nested calls: two calls could wait for each other
  };

  Result<Place> enter(const std::string& tool, const ToolQuota& quota, const Wait& wait);
  /// Refuses calls for this long, after the tool's service asked for fewer.
  void cool_down(const std::string& tool, std::chrono::milliseconds span);
  /// How long calls are still refused; zero if one may be made.
  [[nodiscard]] std::chrono::milliseconds cool_down_left(const std::string& tool) const;

 private:
  struct Count {
    uint32_t running = 0;
    std::deque<uint64_t> queue;                               ///< tickets, next one first
    std::deque<std::chrono::steady_clock::time_point> begun;  ///< starts in the last minute
    std::chrono::steady_clock::time_point cold_until = std::chrono::steady_clock::time_point::min();
  };

  /// The programs of one transaction.
  struct Memory {
    uint64_t in_use = 0;         ///< limits of the running programs
    std::deque<uint64_t> queue;  ///< tickets of calls that wait for memory
  };

  Result<void> check_rate(const std::string& tool, const ToolQuota& quota, Count& count) const;
  Result<void> take_place(const std::string& tool, const ToolQuota& quota, const Wait& wait,
                          std::unique_lock<std::mutex>& lock);
  Result<void> take_memory(const std::string& tool, const ToolQuota& quota, const Wait& wait,
                           std::unique_lock<std::mutex>& lock);
  /// Waits for `ready`. Returns false after the deadline of the call, or if it was cancelled.
  bool wait_until(const std::function<bool()>& ready, const Wait& wait,
                  std::unique_lock<std::mutex>& lock);
  void leave(const std::string& tool, uint64_t memory_bytes, const void* sharer);
  /// Forgets a transaction that uses and awaits no memory.
  void forget_unused(const void* sharer);

  const Clock* clock_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::map<std::string, Count> counts_;  ///< guarded by mutex_, as are the members below
  uint64_t last_ticket_ = 0;
  std::map<const void*, Memory> memory_;  ///< by sharer
};

}  // namespace galley
