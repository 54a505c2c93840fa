#include "staging/sandbox/run_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

namespace galley {
namespace {

TEST(BackgroundWorker, JobsRunInOrderAndTheDestructorWaits) {
  std::vector<int> done;
  {
    BackgroundWorker worker;
    for (int i = 0; i < 200; ++i) {
      worker.post([&done, i]() -> Result<void> {
        done.push_back(i);
        return {};
      });
    }
  }
  ASSERT_EQ(done.size(), 200U);
  for (int i = 0; i < 200; ++i) EXPECT_EQ(done[static_cast<size_t>(i)], i);
}

TEST(BackgroundWorker, FinishWaitsForRunningJobs) {
  BackgroundWorker worker;
  worker.finish();
  std::atomic<int> done = 0;
  for (int i = 0; i < 20; ++i) {
    worker.post([&done]() -> Result<void> {
      ++done;
      return {};
    });
  }
  worker.finish();
  EXPECT_EQ(done, 20);
}

TEST(BackgroundWorker, TheFirstFailureIsReportedOnce) {
  BackgroundWorker worker;
  for (const char* word : {"first", "second"}) {
    worker.post([word]() -> Result<void> { return fail(ErrorKind::kInternal, word, "it failed"); });
  }
  worker.finish();
  const auto failure = worker.take_failure();
  ASSERT_FALSE(failure);
  EXPECT_EQ(failure.error().reason, "first");
  EXPECT_TRUE(worker.take_failure());
}

}  // namespace
}  // namespace galley
