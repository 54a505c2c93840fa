#include "staging/sandbox/afterwards.h"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

namespace galley {
namespace {

TEST(Afterwards, DoesItInOrderAndTheDestructorWaits) {
  std::vector<int> done;
  {
    Afterwards afterwards;
    for (int i = 0; i < 200; ++i) {
      afterwards.post([&done, i]() -> Result<void> {
        done.push_back(i);
        return {};
      });
    }
  }
  ASSERT_EQ(done.size(), 200U);
  for (int i = 0; i < 200; ++i) EXPECT_EQ(done[static_cast<size_t>(i)], i);
}

TEST(Afterwards, FinishWaitsForWhatIsBeingDone) {
  Afterwards afterwards;
  afterwards.finish();
  std::atomic<int> done = 0;
  for (int i = 0; i < 20; ++i) {
    afterwards.post([&done]() -> Result<void> {
      ++done;
      return {};
    });
  }
  afterwards.finish();
  EXPECT_EQ(done, 20);
}

TEST(Afterwards, TheFirstFailureIsToldOnce) {
  Afterwards afterwards;
  for (const char* word : {"first", "second"}) {
    afterwards.post(
        [word]() -> Result<void> { return fail(ErrorKind::kInternal, word, "it failed"); });
  }
  afterwards.finish();
  const auto failure = afterwards.take_failure();
  ASSERT_FALSE(failure);
  EXPECT_EQ(failure.error().reason, "first");
  EXPECT_TRUE(afterwards.take_failure());
}

}  // namespace
}  // namespace galley
