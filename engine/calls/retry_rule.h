#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>

#include "tools/custom_tool.h"
#include "tools/registry.h"
#include "tools/tool.h"

namespace galley {

/// How often a call is tried whose tool says that it will pass, and how long each pause is:
/// exponential, with jitter, so that callers who failed together do not come back together.
struct RetryRule {
  uint32_t attempts = 3;
  std::chrono::milliseconds first{100};
  std::chrono::milliseconds longest{2'000};
  /// From 0 to below 1; a test says which.
  std::function<double()> jitter = {};
  /// Waits, and answers whether it did to the end; a test does not.
  std::function<bool(std::chrono::milliseconds, const std::stop_token&)> pause = {};

  /// The pause after so many attempts: between half and all of first × 2^(attempts - 1), at most
  /// `longest`.
  [[nodiscard]] std::chrono::milliseconds pause_after(uint32_t attempts_made) const;
  /// Waits on this thread unless `pause` is given; false when a stop was requested.
  [[nodiscard]] bool wait(std::chrono::milliseconds span, const std::stop_token& stop) const;
};

/// Whether trying a call again can do no harm: the tool says it is idempotent, and what a failed
/// attempt left can be taken back or was nothing.
[[nodiscard]] bool may_be_repeated(const ToolInfo& info);

/// Whether another tool of the name may answer in place of the one that failed so. What may have
/// done something that cannot be taken back is not done twice.
[[nodiscard]] bool may_fall_back(const ToolInfo& info, const ToolError& error);

/// For who reads the result: which tool was passed over, and why.
[[nodiscard]] std::string passed_over(const ToolRegistry::Entry& tried, const ToolError& error,
                                      const ToolRegistry::Entry& next);

}  // namespace galley
