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

// Such as an MCP server and the commands of its agent's shell.
TEST_F(OpenTransactionsTest, TwoProcessesOfOneSessionBeginOneTransaction) {
  const auto first = *Workspace::open(tree_.path());
  const auto second = *Workspace::open(tree_.path());
  for (int round = 0; round < 20; ++round) {
    OpenTransactions one(*first, "bot");
    OpenTransactions other(*second, "bot");
    one.work_in({"s", true});
    other.work_in({"s", true});
    std::barrier both(2);
    std::vector<std::thread> callers;
    for (OpenTransactions* open : {&one, &other}) {
      callers.emplace_back([&, open] {
        both.arrive_and_wait();
        EXPECT_TRUE(open->lend(""));
      });
    }
    for (std::thread& caller : callers) caller.join();
    ASSERT_EQ(one.own(), other.own()) << round;
    auto lent = one.lend("");
    ASSERT_TRUE(lent);
    ASSERT_TRUE((*lent)->rollback());
    ASSERT_TRUE(lent->give_back(true));
  }
}

TEST_F(OpenTransactionsTest, EachSessionOfAConnectionHasItsOwnTransaction) {
  const auto workspace = *Workspace::open(tree_.path());
  OpenTransactions open(*workspace, "bot");
  open.work_in({"mcp-1", false});
  const std::string first = *open.begin("before the hook");
  open.work_in({"s", true});
  EXPECT_EQ(open.own(), first) << "the agent began it before its session was known";
  open.work_in({"t", true});
  EXPECT_EQ(open.own(), "");
  const std::string second = *open.begin("of t");
  open.work_in({"s", true});
  const std::string of_t = "t";
  {
    const OpenTransactions::InSession in_t(of_t);
    EXPECT_EQ(open.own(), second);
    EXPECT_EQ(open.who().session, "t");
  }
  EXPECT_EQ(open.own(), first);
  EXPECT_EQ(open.who().session, "s");
}

}  // namespace
}  // namespace galley
