#include "server/session/open_transactions.h"

#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "support/temp_directory.h"

namespace galley {
namespace {

class OpenTransactionsTest : public ::testing::Test {
 protected:
  OpenTransactionsTest() : workspace_(*Workspace::open(tree_.path())) {}

  TempDirectory tree_;
  std::unique_ptr<Workspace> workspace_;
};

TEST_F(OpenTransactionsTest, CallsOfOneTransactionTakeTurns) {
  OpenTransactions open(*workspace_, "");
  const std::string id = *open.begin("");
  std::atomic<int> inside = 0;
  std::atomic<int> most = 0;
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 8; ++caller) {
    callers.emplace_back([&] {
      for (int i = 0; i < 20; ++i) {
        auto lent = open.lend(id);
        ASSERT_TRUE(lent) << lent.error().message;
        const int now = ++inside;
        if (now > most) most = now;
        std::this_thread::yield();
        --inside;
        EXPECT_TRUE(lent->give_back());
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(most, 1);
}

TEST_F(OpenTransactionsTest, CallsOfDifferentTransactionsRunInParallel) {
  OpenTransactions open(*workspace_, "");
  const std::vector<std::string> ids = {*open.begin("one"), *open.begin("two")};
  std::barrier both(2);  // passed only when both are inside at once
  std::vector<std::thread> callers;
  for (const std::string& id : ids) {
    callers.emplace_back([&, id] {
      const auto lent = open.lend(id);
      ASSERT_TRUE(lent) << lent.error().message;
      both.arrive_and_wait();
    });
  }
  for (std::thread& caller : callers) caller.join();
}

TEST_F(OpenTransactionsTest, ConcurrentCallsBeginOneOwnTransaction) {
  OpenTransactions open(*workspace_, "");
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 8; ++caller) {
    callers.emplace_back([&] { EXPECT_TRUE(open.lend("")); });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(workspace_->stages()->size(), 1U);
}

}  // namespace
}  // namespace galley
