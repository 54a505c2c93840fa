#include "engine/calls/call_stack.h"

#include <algorithm>
#include <string_view>

namespace galley {
namespace {

/// `fs:write` is within `fs:write`, and `exec:git` within `exec`; `exec` is not within `exec:git`.
bool is_within(std::string_view needed, const std::vector<std::string>& stated) {
  return std::any_of(stated.begin(), stated.end(), [&](const std::string& one) {
    return needed == one || (needed.starts_with(one) && needed.substr(one.size(), 1) == ":");
  });
}

}  // namespace

Result<void> CallStack::check(const ToolInfo& callee) {
  if (levels_.empty()) return {};
  const ToolInfo& caller = *levels_.back().info;
  const auto is_same = [&](const Level& level) { return level.info->name == callee.name; };
  if (std::any_of(levels_.begin(), levels_.end(), is_same)) {
    std::string way;
    for (const Level& level : levels_) way += level.info->name + " -> ";
    return fail(ErrorKind::kRefused, "call.cycle",
                "the tool '" + callee.name + "' is being called already (" + way + callee.name +
                    "); a tool may not call itself, nor one that led to it");
  }
  if (levels_.size() >= kMaxCallDepth) {
    return fail(ErrorKind::kQuota, "limit.call_depth",
                "'" + caller.name + "' is the " + std::to_string(kMaxCallDepth) +
                    "th tool that one call led to, and it may call no other");
  }
  if (++calls_ > kMaxNestedCalls) {
    return fail(ErrorKind::kQuota, "limit.nested_calls",
                "one call led to more than " + std::to_string(kMaxNestedCalls) +
                    " others; make several calls of it");
  }
  if (caller.annotations.read_only && !callee.annotations.read_only) {
    return fail(ErrorKind::kRefused, "tool.read_only",
                "the tool '" + caller.name + "' declares itself read-only, and '" + callee.name +
                    "' changes something");
  }
  for (const std::string& needed : callee.capabilities) {
    if (is_within(needed, caller.capabilities)) continue;
    return fail(ErrorKind::kRefused, "capability.missing",
                "the tool '" + caller.name + "' may not call '" + callee.name + "', which needs `" +
                    needed + "`: its definition has to name that among its capabilities");
  }
  return {};
}

std::chrono::milliseconds CallStack::bounded(std::chrono::milliseconds own,
                                             const Clock& clock) const {
  if (levels_.empty() || levels_.back().deadline.is_never()) return own;
  return std::min(own, levels_.back().deadline.left(clock));
}

}  // namespace galley
