#include "engine/calls/tool_quotas.h"

#include <algorithm>
#include <utility>

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

Result<ToolQuotas::Place> ToolQuotas::enter(const std::string& tool, const ToolQuota& quota,
                                            const Wait& wait) {
  std::unique_lock lock(mutex_);
  Count& count = counts_[tool];
  GALLEY_TRY(check_rate(tool, quota, count));
  if (count.running < quota.max_concurrent && count.queue.empty()) {
    ++count.running;
    return Place(*this, tool);
  }
  if (!wait.may_wait || count.queue.size() >= quota.max_queued) {
    return fail(ErrorKind::kQuota, "limit.tool_queue",
                "the tool '" + tool + "' runs " + std::to_string(count.running) +
                    " calls at once and " + std::to_string(count.queue.size()) +
                    " wait; call it again when one of them has ended");
  }
  const uint64_t ticket = ++last_ticket_;
  count.queue.push_back(ticket);
  const auto is_next = [&] {
    return count.queue.front() == ticket && count.running < quota.max_concurrent;
  };
  bool has_place = false;
  if (wait.deadline.is_never()) {
    has_place = changed_.wait(lock, wait.stop, is_next);
  } else {
    has_place = changed_.wait_for(lock, wait.stop, wait.deadline.left(*clock_), is_next);
  }
  std::erase(count.queue, ticket);
  changed_.notify_all();  // another one is next now
  if (has_place) {
    ++count.running;
    return Place(*this, tool);
  }
  if (wait.stop.stop_requested()) {
    return fail(ErrorKind::kTimeout, "call.cancelled", "the call was cancelled while it waited");
  }
  return fail(ErrorKind::kTimeout, "tool.queue_timeout",
              "the call waited for the tool '" + tool + "' until its time was over");
}

void ToolQuotas::cool_down(const std::string& tool, milliseconds span) {
  const std::lock_guard lock(mutex_);
  Count& count = counts_[tool];
  count.cold_until = std::max(count.cold_until, clock_->steady() + span);
}

void ToolQuotas::leave(const std::string& tool) {
  {
    const std::lock_guard lock(mutex_);
    --counts_[tool].running;
  }
  changed_.notify_all();
}

}  // namespace galley
