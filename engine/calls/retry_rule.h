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

/// How often a call with a transient error is tried, and how long each pause is. Pauses are
/// exponential, with jitter, so that callers which failed together do not retry together.
struct RetryRule {
  uint32_t attempts = 3;
  std::chrono::milliseconds first{100};
  std::chrono::milliseconds longest{2'000};
  /// Returns a number from 0 to below 1; tests set it.
  std::function<double()> jitter = {};
  /// Waits, and returns false if it was interrupted. Tests set it.
  std::function<bool(std::chrono::milliseconds, const std::stop_token&)> pause = {};

  /// The pause after this number of attempts: between half and all of first × 2^(attempts - 1), at
  /// most `longest`.
  [[nodiscard]] std::chrono::milliseconds pause_after(uint32_t attempts_made) const;
  /// Waits on this thread unless `pause` is given. Returns false if a stop was requested.
  [[nodiscard]] bool wait(std::chrono::milliseconds span, const std::stop_token& stop) const;
};

/// Whether it is safe to repeat a call: the tool declares that it is idempotent, and the effects of
/// a failed attempt can be reverted, if there are any.
[[nodiscard]] bool may_be_repeated(const ToolInfo& info);

/// Whether another tool of the same name may be called after this error. A call is never
/// repeated if it may have had effects that cannot be reverted.
[[nodiscard]] bool may_fall_back(const ToolInfo& info, const ToolError& error);

/// Returns a warning for the result that names the skipped tool and the reason.
[[nodiscard]] std::string skipped_tool_warning(const ToolRegistry::Entry& tried,
                                               const ToolError& error,
                                               const ToolRegistry::Entry& next);

}  // namespace galley
