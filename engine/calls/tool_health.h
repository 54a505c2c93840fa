#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "tools/tool.h"

namespace galley {

/// When a tool is taken out, and when it is tried again.
struct HealthRule {
  uint32_t failures = 3;  ///< in a row
  std::chrono::milliseconds retry_after{60'000};
};

/// Takes a tool out that hangs or answers garbage, and tries it again after a time.
///
/// Only what shows the tool itself to be broken counts: a deadline that passed, an answer that its
/// schema forbids, an exception, a service that is away. That a file is missing is an answer.
///
/// Ownership: borrows the clock, which must outlive it.
/// Threads:   safe to share. A health check runs without the lock.
/// Errors:    kIo `tool.unhealthy`.
class ToolHealth {
 public:
  enum class State : uint8_t { kHealthy, kOut, kOnTrial };

  explicit ToolHealth(const Clock& clock, HealthRule rule = {}) : clock_(&clock), rule_(rule) {}

  /// Whether a call may go to the tool now. When its time out has passed one call is let through,
  /// once `check` says yes.
  Result<void> admit(const std::string& tool, const std::function<Result<void>()>& check = {});
  /// What came of a call that was admitted.
  void note(const std::string& tool, const ToolResult& result);
  [[nodiscard]] State state(const std::string& tool) const;

 private:
  struct Record {
    State state = State::kHealthy;
    uint32_t failures = 0;  ///< in a row
    std::string last_reason;
    std::chrono::steady_clock::time_point out_until{};
  };

  void take_out(Record& record) const;

  const Clock* clock_;
  HealthRule rule_;
  mutable std::mutex mutex_;
  std::map<std::string, Record> records_;  ///< guarded by mutex_
};

/// "healthy", "out", "on trial".
[[nodiscard]] std::string_view to_string(ToolHealth::State state);

/// Whether an error shows that the tool is broken, not that the call was wrong.
[[nodiscard]] bool shows_a_broken_tool(const ToolError& error);

}  // namespace galley
