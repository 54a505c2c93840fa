#include "engine/history/turns.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace galley {
namespace {

/// Transactions, newest first, and the number of those that were listed.
class NewestTurns : public ::testing::Test {
 protected:
  void commit(const std::string& session, uint64_t turn) {
    TxSummary one;
    one.id = TxId{all_.size() + 1};
    one.session = session;
    one.turn = turn;
    all_.insert(all_.begin(), std::move(one));
  }
  std::vector<TurnSummary> newest(size_t limit, const std::string& session = "") {
    listed_ = 0;
    const auto list = [&](const HistoryFilter& filter) -> Result<std::vector<TxSummary>> {
      std::vector<TxSummary> found;
      for (const TxSummary& one : all_) {
        if (filter.limit > 0 && found.size() == filter.limit) break;
        if (filter.session.empty() || one.session == filter.session) found.push_back(one);
      }
      listed_ += found.size();
      return found;
    };
    HistoryFilter filter;
    filter.session = session;
    const auto turns = newest_turns(list, filter, limit);
    EXPECT_TRUE(turns);
    return *turns;
  }
  /// The first and the number of the transactions of each.
  static std::vector<std::pair<uint64_t, size_t>> shape(const std::vector<TurnSummary>& turns) {
    std::vector<std::pair<uint64_t, size_t>> shapes;
    for (const TurnSummary& turn : turns) {
      shapes.emplace_back(turn.id.value, turn.transactions.size());
    }
    return shapes;
  }

  static constexpr int kMany = 200;
  std::vector<TxSummary> all_;
  size_t listed_ = 0;
};

using Shapes = std::vector<std::pair<uint64_t, size_t>>;

TEST_F(NewestTurns, ReadNoMoreThanTheyNeed) {
  for (int i = 0; i < kMany; ++i) commit("", 0);
  EXPECT_EQ(shape(newest(3)), (Shapes{{kMany, 1}, {kMany - 1, 1}, {kMany - 2, 1}}));
  EXPECT_EQ(listed_, 3U);
  EXPECT_EQ(newest(0).size(), size_t{kMany});
}

TEST_F(NewestTurns, AreWholeThoughOthersCommittedBetween) {
  commit("a", 1);
  commit("a", 2);
  for (int i = 0; i < kMany; ++i) commit("", 0);
  commit("a", 2);
  EXPECT_EQ(shape(newest(1)), (Shapes{{2, 2}}));
  EXPECT_LT(listed_, 10U);
  EXPECT_EQ(shape(newest(9, "a")), (Shapes{{2, 2}, {1, 1}}));
}

TEST_F(NewestTurns, AreAsManyAsAskedForThoughOneIsLong) {
  commit("b", 1);
  commit("a", 1);
  for (int i = 0; i < kMany; ++i) commit("a", 2);
  EXPECT_EQ(shape(newest(2)), (Shapes{{3, kMany}, {2, 1}}));
  EXPECT_EQ(shape(newest(5)), (Shapes{{3, kMany}, {2, 1}, {1, 1}}));
}

TEST_F(NewestTurns, MayBeOfOneSession) {
  for (int i = 0; i < kMany; ++i) commit("", 0);
  for (uint64_t turn = 1; turn <= 3; ++turn) commit("a", turn);
  EXPECT_EQ(shape(newest(3)), (Shapes{{kMany + 3, 1}, {kMany + 2, 1}, {kMany + 1, 1}}));
}

}  // namespace
}  // namespace galley
