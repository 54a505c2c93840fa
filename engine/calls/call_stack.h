#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "tools/tool.h"

namespace galley {

/// The tools that are being called, each by the one before it: what a tool may call in turn.
///
/// Invariant: no name is in it twice, and it is never deeper than kMaxCallDepth.
/// Threads:   confined to the thread of the calls.
/// Errors:    kRefused `call.cycle`, `tool.read_only`, `capability.missing`; kQuota
///            `limit.call_depth`, `limit.nested_calls`.
class CallStack {
 public:
  /// Whether the innermost tool may call this one: it is not being called already, and it does
  /// nothing that the caller did not say it needs. Anything may be called from outside.
  Result<void> check(const ToolInfo& callee);

  /// One tool's run; pushed when it begins, popped when it goes.
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
  /// Of the innermost tool's record; empty from outside.
  [[nodiscard]] std::string execution_id() const {
    return levels_.empty() ? std::string() : levels_.back().execution_id;
  }
  /// The name of the innermost tool; empty from outside.
  [[nodiscard]] std::string caller() const {
    return levels_.empty() ? std::string() : levels_.back().info->name;
  }
  /// `own`, or what is left to the tool that calls where that is less.
  [[nodiscard]] std::chrono::milliseconds bounded(std::chrono::milliseconds own,
                                                  const Clock& clock) const;

 private:
  struct Level {
    const ToolInfo* info;
    std::string execution_id;
    Deadline deadline;
  };
  std::vector<Level> levels_;
  uint32_t calls_ = 0;  ///< made by tools since the outermost one began
};

/// Tools that call tools that call tools.
inline constexpr size_t kMaxCallDepth = 8;
/// Calls that one call from outside makes, at all depths.
inline constexpr uint32_t kMaxNestedCalls = 1'000;

}  // namespace galley
