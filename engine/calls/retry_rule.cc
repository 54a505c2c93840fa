#include "engine/calls/retry_rule.h"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <mutex>
#include <string_view>

#include "base/encoding.h"
#include "engine/calls/tool_health.h"

namespace galley {

namespace {

using std::chrono::milliseconds;

double random_fraction() {
  std::array<uint8_t, 2> bytes{};
  fill_random(bytes);
  return static_cast<double>(bytes[0] * 256 + bytes[1]) / 65536.0;
}

}  // namespace

milliseconds RetryRule::pause_after(uint32_t attempts_made) const {
  constexpr uint32_t kMaxShift = 20;
  const uint32_t shift = std::min(attempts_made > 0 ? attempts_made - 1 : 0, kMaxShift);
  const milliseconds full = std::min(longest, first * (int64_t{1} << shift));
  const double part = (1.0 + (jitter ? jitter() : random_fraction())) / 2;
  return milliseconds(static_cast<int64_t>(static_cast<double>(full.count()) * part));
}

bool RetryRule::wait(milliseconds span, const std::stop_token& stop) const {
  if (pause) return pause(span, stop);
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  (void)never.wait_for(lock, stop, span, [] { return false; });
  return !stop.stop_requested();
}

bool may_be_repeated(const ToolInfo& info) {
  return info.annotations.read_only || info.annotations.idempotent;
}

namespace {

/// Whether the tool was not started.
bool was_not_begun(const ToolError& error) {
  static constexpr std::array<std::string_view, 6> kReasons = {
      "tool.unhealthy", "limit.tool_queue", "limit.rate",
      "tool.draining",  "tool.dependency",  "tool.factory"};
  return std::find(kReasons.begin(), kReasons.end(), error.reason) != kReasons.end();
}

}  // namespace

bool may_fall_back(const ToolInfo& info, const ToolError& error) {
  if (was_not_begun(error)) return true;
  return may_be_repeated(info) && (shows_a_broken_tool(error) || is_transient(error));
}

std::string skipped_tool_warning(const ToolRegistry::Entry& tried, const ToolError& error,
                                 const ToolRegistry::Entry& next) {
  return "the tool of priority " + std::to_string(tried.precedence.priority) +
         " could not answer (" + error.reason + "); that of priority " +
         std::to_string(next.precedence.priority) + " was called";
}

}  // namespace galley
