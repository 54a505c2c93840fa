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

/// After how many failures a tool is disabled, and when it is tried again.
struct HealthRule {
  uint32_t failures = 3;  ///< in a row
  std::chrono::milliseconds retry_after{60'000};
};

/// Disables a tool that hangs or returns garbage, and tries it again later.
///
/// Only errors that show a broken tool are counted: a missed deadline, a result that violates its
/// schema, an exception, an unavailable service. A missing file is a valid result.
///
/// Ownership: borrows the clock, which must outlive it.
/// Threads:   safe to share. A health check runs without the lock.
/// Errors:    kIo `tool.unhealthy`.
class ToolHealth {
 public:
  enum class State : uint8_t { kHealthy, kOut, kOnTrial };

  explicit ToolHealth(const Clock& clock, HealthRule rule = {}) : clock_(&clock), rule_(rule) {}

  /// Whether the tool may be called now. After the pause of a disabled tool, one call is
  /// allowed if `check` succeeds.
  Result<void> admit(const std::string& tool, const std::function<Result<void>()>& check = {});
  /// Takes the result of an admitted call.
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

/// Whether an error shows that the tool is broken, as opposed to a wrong call.
[[nodiscard]] bool shows_a_broken_tool(const ToolError& error);

}  // namespace galley
