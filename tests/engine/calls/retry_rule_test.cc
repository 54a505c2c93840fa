#include "engine/calls/retry_rule.h"

#include <gtest/gtest.h>

namespace galley {
namespace {

using std::chrono::milliseconds;

TEST(RetryRule, PausesDoubleUpToTheLongest) {
  RetryRule rule;
  rule.jitter = [] { return 1.0; };
  EXPECT_EQ(rule.pause_after(1), milliseconds(100));
  EXPECT_EQ(rule.pause_after(2), milliseconds(200));
  EXPECT_EQ(rule.pause_after(5), milliseconds(1'600));
  EXPECT_EQ(rule.pause_after(6), milliseconds(2'000));
  EXPECT_EQ(rule.pause_after(4'000'000'000), milliseconds(2'000));
}

TEST(RetryRule, JitterShortensAPauseByUpToHalf) {
  RetryRule rule;
  rule.jitter = [] { return 0.0; };
  EXPECT_EQ(rule.pause_after(1), milliseconds(50));
  rule.jitter = {};
  for (int i = 0; i < 100; ++i) {
    EXPECT_GE(rule.pause_after(1), milliseconds(50));
    EXPECT_LE(rule.pause_after(1), milliseconds(100));
  }
}

TEST(RetryRule, AStopEndsAPause) {
  const RetryRule rule;
  std::stop_source stop;
  stop.request_stop();
  EXPECT_FALSE(rule.wait(std::chrono::hours(1), stop.get_token()));
}

TEST(RetryRule, OnlyNamedErrorsAreTransient) {
  EXPECT_TRUE(is_transient({ToolErrorCode::kRuntime, "service.unavailable", "", nullptr}));
  for (const char* reason : {"tool.timeout", "args.schema", "capability.missing", "path.not_found",
                             "service.rate_limited", "service.unavailable.x", ""}) {
    EXPECT_FALSE(is_transient({ToolErrorCode::kRuntime, reason, "", nullptr})) << reason;
  }
}

}  // namespace
}  // namespace galley
