#include "engine/calls/tool_quotas.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <optional>
#include <thread>
#include <vector>

#include "support/manual_clock.h"
#include "tools/tool_definition.h"

namespace galley {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

std::string place_or_reason(const Result<ToolQuotas::Place>& place) {
  return place ? "in" : place.error().reason;
}

TEST(ToolQuotas, TenCallsRunAtOnceAndTheEleventhWaits) {
  const ManualClock clock;
  ToolQuotas quotas(clock);
  const ToolQuota quota;
  std::vector<ToolQuotas::Place> places;
  for (int i = 0; i < 10; ++i) {
    auto place = quotas.enter("Run", quota, {});
    ASSERT_TRUE(place);
    places.push_back(*std::move(place));
  }
  EXPECT_EQ(place_or_reason(quotas.enter("Other", quota, {})), "in")
      << "each tool has its own places";
  EXPECT_EQ(place_or_reason(quotas.enter("Run", quota, {{}, {}, false})), "limit.tool_queue");
  std::atomic<bool> is_in = false;
  {
    std::jthread waiting([&] {
      const auto place = quotas.enter("Run", quota, {});
      is_in = place.has_value();
    });
    places.pop_back();
  }
  EXPECT_TRUE(is_in);
}

// Limit: kMaxAllToolsBytes of tools/tool_definition.h
TEST(ToolQuotas, ProgramsOfAllToolsShareOneGibibyte) {
  const ManualClock clock;
  ToolQuotas quotas(clock);
  ToolQuota usual;
  usual.memory_bytes = kMaxToolCallBytes;
  std::vector<ToolQuotas::Place> places;
  for (int i = 0; i < 5; ++i) {
    auto place = quotas.enter("t" + std::to_string(i), usual, {});
    ASSERT_TRUE(place) << i;
    places.push_back(*std::move(place));
  }
  EXPECT_EQ(place_or_reason(quotas.enter("Read", {}, {})), "in")
      << "what runs no program takes none of it";
  EXPECT_EQ(place_or_reason(quotas.enter("t6", usual, {{}, {}, false})), "limit.tool_memory");
  std::atomic<bool> is_in = false;
  {
    std::jthread waiting([&] { is_in = quotas.enter("t6", usual, {}).has_value(); });
    places.pop_back();
  }
  EXPECT_TRUE(is_in);
  places.clear();
  ToolQuota huge;
  huge.memory_bytes = 2 * kMaxAllToolsBytes;
  const auto alone = quotas.enter("Huge", huge, {});
  EXPECT_TRUE(alone) << "a person configured it so: it runs alone";
  EXPECT_EQ(place_or_reason(quotas.enter("t1", usual, {{}, {}, false})), "limit.tool_memory");
}

TEST(ToolQuotas, TransactionsDoNotWaitForEachOthersMemory) {
  const ManualClock clock;
  ToolQuotas quotas(clock);
  const int transactions[2] = {};
  ToolQuota all;
  all.memory_bytes = kMaxAllToolsBytes;
  std::vector<ToolQuotas::Place> places;
  for (const int& transaction : transactions) {
    all.sharer = &transaction;
    auto place = quotas.enter("Bash", all, {{}, {}, false});
    ASSERT_TRUE(place);
    places.push_back(*std::move(place));
    EXPECT_EQ(place_or_reason(quotas.enter("Bash", all, {{}, {}, false})), "limit.tool_memory");
  }
  places.pop_back();
  EXPECT_EQ(place_or_reason(quotas.enter("Bash", all, {{}, {}, false})), "in");
  all.sharer = &transactions[0];
  EXPECT_EQ(place_or_reason(quotas.enter("Bash", all, {{}, {}, false})), "limit.tool_memory");
}

TEST(ToolQuotas, ACallThatWaitsForMemoryTimesOutAndFreesItsPlace) {
  const ManualClock clock;
  ToolQuotas quotas(clock);
  ToolQuota all;
  all.memory_bytes = kMaxAllToolsBytes;
  all.max_concurrent = 1;
  std::optional<ToolQuotas::Place> place = *quotas.enter("Bash", all, {});
  const Deadline soon = Deadline::after(clock, milliseconds(1));
  EXPECT_EQ(place_or_reason(quotas.enter("Other", all, {soon})), "tool.queue_timeout");
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(place_or_reason(quotas.enter("Other", all, {{}, stop.get_token()})), "call.cancelled");
  place.reset();
  EXPECT_EQ(place_or_reason(quotas.enter("Other", all, {{}, {}, false})), "in");
}

TEST(ToolQuotas, TheQueueHoldsAHundredCalls) {
  const ManualClock clock;
  ToolQuotas quotas(clock);
  ToolQuota quota;
  quota.max_concurrent = 1;
  std::optional<ToolQuotas::Place> place = *quotas.enter("Run", quota, {});
  std::stop_source stop;
  std::atomic<int> cancelled = 0;
  std::atomic<int> refused = 0;
  {
    std::vector<std::jthread> threads;
    std::latch ended(1);
    for (int i = 0; i < 101; ++i) {
      threads.emplace_back([&] {
        const auto waited = quotas.enter("Run", quota, {{}, stop.get_token()});
        if (place_or_reason(waited) == "call.cancelled") ++cancelled;
        if (place_or_reason(waited) == "limit.tool_queue") {
          ++refused;
          ended.count_down();
        }
      });
    }
    ended.wait();  // whichever came last: a hundred were waiting then
    stop.request_stop();
  }
  EXPECT_EQ(refused, 1);
  EXPECT_EQ(cancelled, 100);
  place.reset();
  EXPECT_EQ(place_or_reason(quotas.enter("Run", quota, {})), "in")
      << "who went away left no ticket";
}

TEST(ToolQuotas, ACallAfterItsDeadlineDoesNotWait) {
  const ManualClock clock;
  ToolQuotas quotas(clock);
  ToolQuota quota;
  quota.max_concurrent = 1;
  const auto place = quotas.enter("Run", quota, {});
  const Deadline now = Deadline::after(clock, milliseconds(0));
  EXPECT_EQ(place_or_reason(quotas.enter("Run", quota, {now})), "tool.queue_timeout");
}

TEST(ToolQuotas, CallsOverTheRateAreRefusedUntilTheCoolDownEnds) {
  ManualClock clock;
  ToolQuotas quotas(clock);
  ToolQuota quota;
  quota.calls_per_minute = 2;
  quota.cool_down = seconds(90);
  EXPECT_EQ(place_or_reason(quotas.enter("Run", quota, {})), "in");
  clock.pass(seconds(1));
  EXPECT_EQ(place_or_reason(quotas.enter("Run", quota, {})), "in");
  const auto third = quotas.enter("Run", quota, {});
  EXPECT_EQ(place_or_reason(third), "limit.rate");
  EXPECT_NE(third.error().message.find("try again in 90000 ms"), std::string::npos);
  clock.pass(seconds(89));
  EXPECT_EQ(place_or_reason(quotas.enter("Run", quota, {})), "limit.rate") << "it is cooling down";
  clock.pass(seconds(1));
  EXPECT_EQ(place_or_reason(quotas.enter("Run", quota, {})), "in");
}

TEST(ToolQuotas, CallsAreForgottenAfterAMinute) {
  ManualClock clock;
  ToolQuotas quotas(clock);
  ToolQuota quota;
  quota.calls_per_minute = 1;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(place_or_reason(quotas.enter("Run", quota, {})), "in");
    clock.pass(seconds(60));
  }
}

TEST(ToolQuotas, CallsAreRefusedDuringARequestedCoolDown) {
  ManualClock clock;
  ToolQuotas quotas(clock);
  quotas.cool_down("Api", seconds(5));
  EXPECT_EQ(place_or_reason(quotas.enter("Api", {}, {})), "limit.rate");
  clock.pass(seconds(5));
  EXPECT_EQ(place_or_reason(quotas.enter("Api", {}, {})), "in");
}

}  // namespace
}  // namespace galley
