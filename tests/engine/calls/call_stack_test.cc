#include "engine/calls/call_stack.h"

#include <gtest/gtest.h>

#include <memory>

#include "support/manual_clock.h"

namespace galley {
namespace {

using std::chrono::milliseconds;

ToolInfo tool(std::string name, std::vector<std::string> capabilities = {},
              bool is_read_only = false) {
  ToolInfo info;
  info.name = std::move(name);
  info.capabilities = std::move(capabilities);
  info.annotations.read_only = is_read_only;
  return info;
}

std::string verdict_on(const Result<void>& result) {
  return result ? "may" : result.error().reason;
}

TEST(CallStack, AToolMayNotCallItsCallers) {
  CallStack stack;
  const ToolInfo outer = tool("Outer");
  const ToolInfo inner = tool("Inner");
  EXPECT_EQ(verdict_on(stack.check(outer)), "may");
  const CallStack::Frame first(stack, outer, "exec-1", {});
  EXPECT_EQ(verdict_on(stack.check(outer)), "call.cycle");
  EXPECT_EQ(verdict_on(stack.check(inner)), "may");
  const CallStack::Frame second(stack, inner, "exec-2", {});
  const auto refused = stack.check(outer);
  EXPECT_EQ(verdict_on(refused), "call.cycle");
  EXPECT_NE(refused.error().message.find("Outer -> Inner -> Outer"), std::string::npos);
  EXPECT_EQ(stack.execution_id(), "exec-2");
}

// Limit: kMaxCallDepth of engine/calls/call_stack.h
TEST(CallStack, DepthIsLimited) {
  CallStack stack;
  std::vector<ToolInfo> tools;
  for (size_t i = 0; i <= kMaxCallDepth; ++i) tools.push_back(tool("T" + std::to_string(i)));
  std::vector<std::unique_ptr<CallStack::Frame>> frames;
  for (size_t i = 0; i < kMaxCallDepth; ++i) {
    EXPECT_EQ(verdict_on(stack.check(tools[i])), "may");
    frames.push_back(std::make_unique<CallStack::Frame>(stack, tools[i], "", Deadline()));
  }
  EXPECT_EQ(verdict_on(stack.check(tools.back())), "limit.call_depth");
  while (!frames.empty()) frames.pop_back();
  EXPECT_FALSE(stack.is_nested());
}

// Limit: kMaxNestedCalls of engine/calls/call_stack.h
TEST(CallStack, TheNumberOfNestedCallsIsLimited) {
  CallStack stack;
  const ToolInfo outer = tool("Outer");
  const ToolInfo inner = tool("Inner");
  for (int round = 0; round < 2; ++round) {
    const CallStack::Frame frame(stack, outer, "", {});
    for (uint32_t i = 0; i < kMaxNestedCalls; ++i) ASSERT_EQ(verdict_on(stack.check(inner)), "may");
    EXPECT_EQ(verdict_on(stack.check(inner)), "limit.nested_calls");
  }
}

TEST(CallStack, AToolCannotCallAToolThatNeedsMoreThanItDeclares) {
  CallStack stack;
  const ToolInfo reader = tool("Reader", {"fs:read"}, true);
  const CallStack::Frame frame(stack, reader, "", {});
  EXPECT_EQ(verdict_on(stack.check(tool("Read", {"fs:read"}, true))), "may");
  EXPECT_EQ(verdict_on(stack.check(tool("Edit", {"fs:write"}))), "tool.read_only");
  EXPECT_EQ(verdict_on(stack.check(tool("Fetch", {"net:host"}, true))), "capability.missing");
}

TEST(CallStack, AWiderCapabilityIncludesANarrowerOne) {
  CallStack stack;
  const ToolInfo runner = tool("Runner", {"exec", "fs:write:src/**"});
  const CallStack::Frame frame(stack, runner, "", {});
  EXPECT_EQ(verdict_on(stack.check(tool("Git", {"exec:git"}))), "may");
  EXPECT_EQ(verdict_on(stack.check(tool("Write", {"fs:write"}))), "capability.missing");
  EXPECT_EQ(verdict_on(stack.check(tool("X", {"execute"}))), "capability.missing");
}

TEST(CallStack, AToolHasNoMoreTimeThanItsCaller) {
  ManualClock clock;
  CallStack stack;
  EXPECT_EQ(stack.bounded(milliseconds(500), clock), milliseconds(500));
  const ToolInfo outer = tool("Outer");
  const CallStack::Frame frame(stack, outer, "", Deadline::after(clock, milliseconds(200)));
  clock.pass(milliseconds(50));
  EXPECT_EQ(stack.bounded(milliseconds(500), clock), milliseconds(150));
  EXPECT_EQ(stack.bounded(milliseconds(10), clock), milliseconds(10));
}

}  // namespace
}  // namespace galley
