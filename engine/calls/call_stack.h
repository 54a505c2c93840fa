#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "tools/tool.h"

namespace galley {

/// The tools that run now, each called by the one before it. It decides which tool may be called
/// next.
///
/// Invariant: no name is in it twice, and it is never deeper than kMaxCallDepth.
/// Threads:   confined to the thread of the calls.
/// Errors:    kRefused `call.cycle`, `tool.read_only`, `capability.missing`; kQuota
///            `limit.call_depth`, `limit.nested_calls`.
class CallStack {
 public:
  /// Returns an error if the innermost tool must not call this one: if it is already running, or
  /// needs a capability that the caller did not declare. Outside of all calls, any tool may be
  /// called.
  Result<void> check(const ToolInfo& callee);

  /// The run of one tool, from construction to destruction.
  class Frame {
   public:
    Frame(CallStack& stack, const ToolInfo& info, std::string execution_id, Deadline deadline)
        : stack_(&stack) {
      stack_->levels_.push_back({&info, std::move(execution_id), deadline});
    }
    ~Frame() {
      stack_->levels_.pop_back();
      if (stack_->levels_.empty()) stack_->calls_ = 0;
    }
    Frame(const Frame&) = delete;
    Frame& operator=(const Frame&) = delete;

   private:
    CallStack* stack_;
  };

  [[nodiscard]] bool is_nested() const { return !levels_.empty(); }
  /// The id of the innermost tool's record; empty outside of all calls.
  [[nodiscard]] std::string execution_id() const {
    return levels_.empty() ? std::string() : levels_.back().execution_id;
  }
  /// The name of the innermost tool; empty outside of all calls.
  [[nodiscard]] std::string caller() const {
    return levels_.empty() ? std::string() : levels_.back().info->name;
  }
  /// The smaller of `own` and the time that is left to the calling tool.
  [[nodiscard]] std::chrono::milliseconds bounded(std::chrono::milliseconds own,
                                                  const Clock& clock) const;

 private:
  struct Level {
    const ToolInfo* info;
    std::string execution_id;
    Deadline deadline;
  };
  std::vector<Level> levels_;
  uint32_t calls_ = 0;  ///< calls by tools since the outermost one began
};

/// The maximum depth of nested calls.
inline constexpr size_t kMaxCallDepth = 8;
/// The maximum number of nested calls of one outer call, at all depths.
inline constexpr uint32_t kMaxNestedCalls = 1'000;

}  // namespace galley
