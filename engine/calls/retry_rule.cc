#include "engine/calls/retry_rule.h"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <mutex>

#include "base/random.h"

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

bool is_transient(const ToolError& error) {
  static constexpr std::array<std::string_view, 5> kTransient = {
      "service.unavailable", "service.timeout", "net.unreachable", "net.timeout", "tool.busy"};
  return std::find(kTransient.begin(), kTransient.end(), error.reason) != kTransient.end();
}

bool may_be_repeated(const ToolInfo& info) {
  return info.annotations.read_only || info.annotations.idempotent;
}

}  // namespace galley
