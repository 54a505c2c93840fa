#include "tools/tool_factory.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <stdexcept>
#include <thread>
#include <vector>

namespace galley {
namespace {

struct Counts {
  int made = 0;
  int closed = 0;
};

TEST(ToolLifecycle, IsMadeByItsFirstCallAndClosedAfterItsLast) {
  Counts counts;
  ToolLifecycle life(
      "t",
      [&]() -> Result<void> {
        ++counts.made;
        return {};
      },
      [&] { ++counts.closed; });
  EXPECT_EQ(life.phase(), ToolPhase::kRegistered);
  {
    const auto first = life.enter();
    const auto second = life.enter();
    ASSERT_TRUE(first && second);
    EXPECT_EQ(counts.made, 1);
    EXPECT_EQ(life.phase(), ToolPhase::kReady);
    life.drain();
    EXPECT_EQ(life.phase(), ToolPhase::kDraining);
    EXPECT_EQ(life.enter().error().reason, "tool.draining");
    EXPECT_EQ(counts.closed, 0) << "calls are still in it";
  }
  EXPECT_EQ(life.phase(), ToolPhase::kClosed);
  life.drain();
  EXPECT_EQ(counts.closed, 1);
}

TEST(ToolLifecycle, MakeIsTriedAgainAfterAFailure) {
  int tries = 0;
  int closed = 0;
  {
    ToolLifecycle life(
        "t",
        [&]() -> Result<void> {
          if (++tries == 1) return fail(ErrorKind::kIo, "tool.factory", "not yet");
          if (tries == 2) throw std::runtime_error("thrown");
          return {};
        },
        [&] { ++closed; });
    EXPECT_EQ(life.enter().error().reason, "tool.factory");
    EXPECT_EQ(life.phase(), ToolPhase::kRegistered);
    EXPECT_EQ(life.enter().error().reason, "tool.threw");
    EXPECT_EQ(closed, 0);
    EXPECT_TRUE(life.enter());
  }
  EXPECT_EQ(closed, 1) << "its end closes it";
}

TEST(ToolLifecycle, AToolThatIsNotCalledIsNeitherMadeNorClosed) {
  Counts counts;
  {
    ToolLifecycle life(
        "t",
        [&]() -> Result<void> {
          ++counts.made;
          return {};
        },
        [&] { ++counts.closed; });
    life.drain();
    EXPECT_EQ(life.phase(), ToolPhase::kClosed);
  }
  EXPECT_EQ(counts.made + counts.closed, 0);
}

TEST(ToolLifecycle, ConcurrentCallsMakeTheToolOnce) {
  std::atomic<int> made = 0;
  ToolLifecycle life("t",
                     [&]() -> Result<void> {
                       ++made;
                       return {};
                     },
                     {});
  std::latch all(4);
  std::atomic<int> entered = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        all.arrive_and_wait();
        entered += life.enter() ? 1 : 0;
      });
    }
  }
  EXPECT_EQ(entered, 4);
  EXPECT_EQ(made, 1);
}

TEST(ToolLifecycle, AToolThatIsDrainedWhileItIsMadeIsClosed) {
  int closed = 0;
  ToolLifecycle* self = nullptr;
  ToolLifecycle life(
      "t",
      [&]() -> Result<void> {
        self->drain();
        return {};
      },
      [&] { ++closed; });
  self = &life;
  EXPECT_EQ(life.enter().error().reason, "tool.draining");
  EXPECT_EQ(life.phase(), ToolPhase::kClosed);
  EXPECT_EQ(closed, 1);
}

}  // namespace
}  // namespace galley
