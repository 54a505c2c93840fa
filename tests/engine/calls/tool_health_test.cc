#include "engine/calls/tool_health.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/manual_clock.h"

namespace galley {
namespace {

using std::chrono::seconds;

ToolResult failed(std::string reason) {
  return ToolResult::failure({ToolErrorCode::kRuntime, std::move(reason), "", nullptr});
}
ToolResult good() { return ToolResult::success(nlohmann::ordered_json::object()); }

class ToolHealthTest : public ::testing::Test {
 protected:
  void fail_times(int times) {
    for (int i = 0; i < times; ++i) health_.note("t", failed("tool.timeout"));
  }
  bool is_let_in() { return health_.admit("t").has_value(); }

  ManualClock clock_;
  ToolHealth health_{clock_, {3, seconds(60)}};
};

TEST_F(ToolHealthTest, ThreeFailuresInARowDisableATool) {
  fail_times(2);
  EXPECT_TRUE(is_let_in());
  health_.note("t", good());
  fail_times(2);
  EXPECT_TRUE(is_let_in()) << "a good answer begins the row again";
  fail_times(1);
  const auto refused = health_.admit("t");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason, "tool.unhealthy");
  EXPECT_NE(refused.error().message.find("tool.timeout"), std::string::npos);
  EXPECT_EQ(health_.state("t"), ToolHealth::State::kOut);
  EXPECT_EQ(health_.state("another"), ToolHealth::State::kHealthy);
}

TEST_F(ToolHealthTest, ANotFoundResultIsNotAFailureOfTheTool) {
  for (int i = 0; i < 9; ++i) health_.note("t", failed("path.not_found"));
  EXPECT_TRUE(is_let_in());
}

TEST_F(ToolHealthTest, ACallThatItsCallerStoppedShowsNothing) {
  fail_times(2);
  health_.note("t", failed("call.cancelled"));
  EXPECT_TRUE(is_let_in());
  fail_times(1);
  EXPECT_FALSE(is_let_in()) << "the third failure";
  clock_.pass(seconds(60));
  EXPECT_TRUE(is_let_in());
  health_.note("t", failed("call.cancelled"));
  EXPECT_TRUE(is_let_in()) << "the next call is the trial";
  EXPECT_FALSE(is_let_in());
}

TEST_F(ToolHealthTest, OneCallTriesADisabledToolAfterThePause) {
  fail_times(3);
  clock_.pass(seconds(59));
  EXPECT_FALSE(is_let_in());
  clock_.pass(seconds(1));
  EXPECT_TRUE(is_let_in());
  EXPECT_EQ(health_.state("t"), ToolHealth::State::kOnTrial);
  EXPECT_FALSE(is_let_in()) << "one at a time";
  health_.note("t", good());
  EXPECT_TRUE(is_let_in());
  EXPECT_EQ(health_.state("t"), ToolHealth::State::kHealthy);
}

TEST_F(ToolHealthTest, AFailedTrialRestartsThePause) {
  fail_times(3);
  clock_.pass(seconds(60));
  EXPECT_TRUE(is_let_in());
  fail_times(1);
  clock_.pass(seconds(59));
  EXPECT_FALSE(is_let_in());
  clock_.pass(seconds(1));
  EXPECT_TRUE(is_let_in());
}

TEST_F(ToolHealthTest, AFailedHealthCheckPreventsTheTrial) {
  fail_times(3);
  clock_.pass(seconds(60));
  const auto refused = health_.admit("t", [] {
    return Result<void>(fail(ErrorKind::kIo, "service.unavailable", "the port is closed"));
  });
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("the port is closed"), std::string::npos);
  EXPECT_EQ(health_.state("t"), ToolHealth::State::kOut);
}

}  // namespace
}  // namespace galley
