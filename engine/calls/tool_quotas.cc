#include "engine/calls/tool_quotas.h"

#include <algorithm>

#include "tools/tool.h"
#include "tools/tool_definition.h"

namespace galley {
namespace {

using std::chrono::milliseconds;

constexpr std::chrono::minutes kRateWindow{1};

tl::unexpected<Error> too_fast(const std::string& tool, const std::string& why,
                               std::chrono::nanoseconds left) {
  const auto wait = std::chrono::ceil<milliseconds>(left);
  return fail(ErrorKind::kQuota, "limit.rate",
              "the tool '" + tool + "' " + why + "; try again in " + std::to_string(wait.count()) +
                  " ms, and not before");
}

/// The error of a call that stops waiting.
Error gave_up(const std::string& tool, const ToolQuotas::Wait& wait, const std::string& what) {
  if (wait.stop.stop_requested()) return call_cancelled();
  return {ErrorKind::kTimeout, "tool.queue_timeout",
          "the call of the tool '" + tool + "' waited for " + what + " until its time was over", "",
          0};
}

}  // namespace

Result<void> ToolQuotas::check_rate(const std::string& tool, const ToolQuota& quota,
                                    Count& count) const {
  const auto now = clock_->steady();
  if (now < count.cold_until) return too_fast(tool, "is cooling down", count.cold_until - now);
  if (quota.calls_per_minute == 0) return {};
  while (!count.begun.empty() && now - count.begun.front() >= kRateWindow) count.begun.pop_front();
  if (count.begun.size() >= quota.calls_per_minute) {
    count.cold_until = now + quota.cool_down;
    return too_fast(
        tool,
        "was called more than " + std::to_string(quota.calls_per_minute) + " times in a minute",
        std::max<std::chrono::nanoseconds>(quota.cool_down,
                                           count.begun.front() + kRateWindow - now));
  }
  count.begun.push_back(now);
  return {};
}

bool ToolQuotas::wait_until(const std::function<bool()>& ready, const Wait& wait,
                            std::unique_lock<std::mutex>& lock) {
  if (wait.deadline.is_never()) return changed_.wait(lock, wait.stop, ready);
  return changed_.wait_for(lock, wait.stop, wait.deadline.left(*clock_), ready);
}

Result<void> ToolQuotas::take_place(const std::string& tool, const ToolQuota& quota,
                                    const Wait& wait, std::unique_lock<std::mutex>& lock) {
  Count& count = counts_[tool];
  if (count.running < quota.max_concurrent && count.queue.empty()) {
    ++count.running;
    return {};
  }
  if (!wait.may_wait || count.queue.size() >= quota.max_queued) {
    return fail(ErrorKind::kQuota, "limit.tool_queue",
                "the tool '" + tool + "' runs " + std::to_string(count.running) +
                    " calls at once and " + std::to_string(count.queue.size()) +
                    " wait; call it again when one of them has ended");
  }
  const uint64_t ticket = ++last_ticket_;
  count.queue.push_back(ticket);
  const bool has_place = wait_until(
      [&] { return count.queue.front() == ticket && count.running < quota.max_concurrent; }, wait,
      lock);
  std::erase(count.queue, ticket);
  changed_.notify_all();  // another ticket is now the first
  if (!has_place) return fail(gave_up(tool, wait, "a place"));
  ++count.running;
  return {};
}

/// Waits for memory. A call that waits here holds a place of its own tool and nothing else, so this
/// cannot deadlock.
Result<void> ToolQuotas::take_memory(const std::string& tool, const ToolQuota& quota,
                                     const Wait& wait, std::unique_lock<std::mutex>& lock) {
  const uint64_t bytes = quota.memory_bytes;
  if (bytes == 0) return {};
  Memory& memory = memory_[quota.sharer];
  const auto has_room = [&] {
    return memory.in_use == 0 || memory.in_use + bytes <= kMaxAllToolsBytes;
  };
  if (!memory.queue.empty() || !has_room()) {
    if (!wait.may_wait) {
      return fail(
          ErrorKind::kQuota, "limit.tool_memory",
          "the programs of '" + tool + "' may take " + std::to_string(bytes) +
              " bytes of memory, and those that run may take " + std::to_string(memory.in_use) +
              " of the " + std::to_string(kMaxAllToolsBytes) +
              " of all tools of a transaction; call it when they have ended, or give it less with "
              "[tools." +
              tool + "] max_memory_bytes");
    }
    const uint64_t ticket = ++last_ticket_;
    memory.queue.push_back(ticket);
    const bool is_served =
        wait_until([&] { return memory.queue.front() == ticket && has_room(); }, wait, lock);
    std::erase(memory.queue, ticket);
    changed_.notify_all();
    if (!is_served) {
      forget_unused(quota.sharer);
      return fail(gave_up(tool, wait, "memory"));
    }
  }
  memory.in_use += bytes;
  return {};
}

Result<ToolQuotas::Place> ToolQuotas::enter(const std::string& tool, const ToolQuota& quota,
                                            const Wait& wait) {
  std::unique_lock lock(mutex_);
  GALLEY_TRY(check_rate(tool, quota, counts_[tool]));
  GALLEY_TRY(take_place(tool, quota, wait, lock));
  if (const auto room = take_memory(tool, quota, wait, lock); !room) {
    --counts_[tool].running;
    changed_.notify_all();
    return fail(room.error());
  }
  return Place(*this, tool, quota);
}

void ToolQuotas::cool_down(const std::string& tool, milliseconds span) {
  const std::lock_guard lock(mutex_);
  Count& count = counts_[tool];
  count.cold_until = std::max(count.cold_until, clock_->steady() + span);
}

milliseconds ToolQuotas::cool_down_left(const std::string& tool) const {
  const std::lock_guard lock(mutex_);
  const auto found = counts_.find(tool);
  const auto now = clock_->steady();
  if (found == counts_.end() || found->second.cold_until <= now) return milliseconds(0);
  return std::chrono::ceil<milliseconds>(found->second.cold_until - now);
}

void ToolQuotas::forget_unused(const void* sharer) {
  const auto found = memory_.find(sharer);
  if (found != memory_.end() && found->second.in_use == 0 && found->second.queue.empty())
    memory_.erase(found);
}

void ToolQuotas::leave(const std::string& tool, uint64_t memory_bytes, const void* sharer) {
  {
    const std::lock_guard lock(mutex_);
    --counts_[tool].running;
    if (memory_bytes != 0) {
      memory_[sharer].in_use -= memory_bytes;
      forget_unused(sharer);
    }
  }
  changed_.notify_all();
}

}  // namespace galley
