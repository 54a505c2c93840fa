#include "engine/calls/tool_health.h"

#include <algorithm>
#include <array>

#include "tools/custom_tool.h"

namespace galley {

//            failures in a row = HealthRule::failures
//   kHealthy ---------------------------------------> kOut
//       ^                                              | ^
//       |                      retry_after has passed, | | the trial fails, or the check says
//       |                       and the check said yes | | no: retry_after begins again
//       |           the trial succeeds                 v |
//       '------------------------------------------- kOnTrial
//
// On trial, one call is running. All other calls get the answer of a disabled tool. A trial that
// never reports (because the call was refused for another reason) also ends after retry_after.

bool shows_a_broken_tool(const ToolError& error) {
  static constexpr std::array<std::string_view, 8> kBroken = {
      "tool.timeout", "tool.output",     "tool.threw",          "tool.garbage",
      "tool.factory", "tool.dependency", "service.unavailable", "service.timeout"};
  return std::find(kBroken.begin(), kBroken.end(), error.reason) != kBroken.end() ||
         is_tool_defect(error);
}

std::string_view to_string(ToolHealth::State state) {
  static constexpr std::array<std::string_view, 3> kNames = {"healthy", "out", "on trial"};
  return kNames.at(static_cast<size_t>(state));
}

void ToolHealth::take_out(Record& record) const {
  record.state = State::kOut;
  record.out_until = clock_->steady() + rule_.retry_after;
}

Result<void> ToolHealth::admit(const std::string& tool,
                               const std::function<Result<void>()>& check) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = records_.find(tool);
    if (found == records_.end() || found->second.state == State::kHealthy) return {};
    Record& record = found->second;
    if (clock_->steady() < record.out_until) {
      const auto left =
          std::chrono::ceil<std::chrono::milliseconds>(record.out_until - clock_->steady());
      return fail(ErrorKind::kIo, "tool.unhealthy",
                  "the tool '" + tool + "' failed " + std::to_string(record.failures) +
                      " times in a row (last: " + record.last_reason +
                      ") and is out; it is tried again in " + std::to_string(left.count()) +
                      " ms, use another tool meanwhile");
    }
    record.state = State::kOnTrial;
    record.out_until = clock_->steady() + rule_.retry_after;  // for all other calls
  }
  if (!check) return {};
  const auto checked = check();
  if (checked) return {};
  const std::lock_guard lock(mutex_);
  take_out(records_[tool]);
  return fail(ErrorKind::kIo, "tool.unhealthy",
              "the tool '" + tool + "' reports that it cannot work: " + checked.error().message);
}

void ToolHealth::note(const std::string& tool, const ToolResult& result) {
  if (result.error && result.error->reason == "call.cancelled") {  // it shows nothing
    const std::lock_guard lock(mutex_);
    const auto found = records_.find(tool);
    const bool is_trial = found != records_.end() && found->second.state == State::kOnTrial;
    if (is_trial) found->second.out_until = clock_->steady();
    return;
  }
  const bool is_broken = result.error && shows_a_broken_tool(*result.error);
  const std::lock_guard lock(mutex_);
  if (!is_broken) {
    records_.erase(tool);
    return;
  }
  Record& record = records_[tool];
  record.last_reason = result.error->reason;
  ++record.failures;
  if (record.state == State::kOnTrial || record.failures >= rule_.failures) take_out(record);
}

ToolHealth::State ToolHealth::state(const std::string& tool) const {
  const std::lock_guard lock(mutex_);
  const auto found = records_.find(tool);
  return found == records_.end() ? State::kHealthy : found->second.state;
}

}  // namespace galley
