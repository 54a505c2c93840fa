#include "engine/calls/fallbacks.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "engine/calls/retry_rule.h"
#include "engine/calls/tool_health.h"

namespace galley {
namespace {

/// Why a tool did not even begin.
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

std::string passed_over(const ToolRegistry::Entry& tried, const ToolError& error,
                        const ToolRegistry::Entry& next) {
  return "the tool of priority " + std::to_string(tried.standing.priority) + " could not answer (" +
         error.reason + "); that of priority " + std::to_string(next.standing.priority) +
         " was called";
}

}  // namespace galley
