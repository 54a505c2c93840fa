#include "engine/validators/bisect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <set>

#include "tests/support/manual_clock.h"

namespace galley {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

bool has(const PieceSet& set, size_t piece) {
  return std::binary_search(set.begin(), set.end(), piece);
}

BisectResult run(size_t pieces, SubsetJudge judge, size_t parallel = 1) {
  const SystemClock clock;
  BisectRequest request;
  request.pieces = pieces;
  request.judge = std::move(judge);
  request.parallel = parallel;
  auto result = bisect(request, clock);
  EXPECT_TRUE(result) << result.error().message;
  return result ? *result : BisectResult();
}

SubsetJudge fails_if(std::function<bool(const PieceSet&)> predicate) {
  return [predicate = std::move(predicate)](const PieceSet& set) -> Result<SubsetAnswer> {
    return predicate(set) ? SubsetAnswer::kFails : SubsetAnswer::kPasses;
  };
}

TEST(Bisect, FindsOneBadPieceAmongMany) {
  const auto result = run(100, fails_if([](const PieceSet& set) { return has(set, 37); }));
  EXPECT_THAT(result.smallest_failing, ElementsAre(37));
  EXPECT_EQ(result.largest_passing.size(), 99U);
  EXPECT_FALSE(has(result.largest_passing, 37));
  EXPECT_TRUE(result.is_complete);
  EXPECT_LT(result.questions, 60U) << "logarithmic when one piece is to blame";
}

TEST(Bisect, FindsAPairThatFailsOnlyTogether) {
  const auto result =
      run(16, fails_if([](const PieceSet& set) { return has(set, 3) && has(set, 12); }));
  EXPECT_THAT(result.smallest_failing, ElementsAre(3, 12));
  EXPECT_EQ(result.largest_passing.size(), 15U);
}

TEST(Bisect, APieceThatNeedsAnotherIsUnresolvedAlone) {
  // 5 alone cannot be judged: it needs 4; 9 fails.
  const auto judge = [](const PieceSet& set) -> Result<SubsetAnswer> {
    if (has(set, 5) && !has(set, 4)) return SubsetAnswer::kUnresolved;
    return has(set, 9) ? SubsetAnswer::kFails : SubsetAnswer::kPasses;
  };
  const auto result = run(12, judge);
  EXPECT_THAT(result.smallest_failing, ElementsAre(9));
  EXPECT_EQ(result.largest_passing.size(), 11U);
}

TEST(Bisect, EverythingFails) {
  const auto result = run(8, fails_if([](const PieceSet& set) { return !set.empty(); }));
  EXPECT_EQ(result.smallest_failing.size(), 1U);
  EXPECT_THAT(result.largest_passing, IsEmpty());
}

TEST(Bisect, WholeThatPassesIsRefused) {
  const SystemClock clock;
  BisectRequest request;
  request.pieces = 3;
  request.judge = fails_if([](const PieceSet&) { return false; });
  const auto result = bisect(request, clock);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().reason, "bisect.nothing_fails");
}

TEST(Bisect, AWholeThatCannotBeJudgedInTimeIsNotCalledPassing) {
  ManualClock clock;
  BisectRequest request;
  request.pieces = 3;
  request.deadline = Deadline::after(clock, std::chrono::seconds(1));
  request.judge = [&](const PieceSet&) -> Result<SubsetAnswer> {
    clock.pass(std::chrono::seconds(1));
    return SubsetAnswer::kUnresolved;
  };
  const auto result = bisect(request, clock);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_FALSE(result->is_complete);
  EXPECT_EQ(result->questions, 1U);
  EXPECT_THAT(result->smallest_failing, ElementsAre(0, 1, 2));
  EXPECT_THAT(result->largest_passing, IsEmpty());
}

TEST(Bisect, ResultsOfRandomProblemsAreMinimalAndMaximal) {
  uint64_t state = 99;
  const auto next = [&state](size_t bound) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<size_t>(state >> 33U) % bound;
  };
  for (int round = 0; round < 200; ++round) {
    const size_t pieces = 2 + next(20);
    std::vector<PieceSet> bad(1 + next(3));
    for (auto& one : bad) {
      for (size_t i = 0; i < 1 + next(3); ++i) one.push_back(next(pieces));
      std::sort(one.begin(), one.end());
      one.erase(std::unique(one.begin(), one.end()), one.end());
    }
    const auto fails = [&](const PieceSet& set) {
      return std::any_of(bad.begin(), bad.end(), [&](const PieceSet& one) {
        return std::includes(set.begin(), set.end(), one.begin(), one.end());
      });
    };
    const auto result = run(pieces, fails_if(fails), 1 + next(3));
    EXPECT_TRUE(fails(result.smallest_failing));
    for (const size_t piece : result.smallest_failing) {
      PieceSet less = result.smallest_failing;
      less.erase(std::find(less.begin(), less.end(), piece));
      EXPECT_FALSE(fails(less)) << "a piece could be left out";
    }
    EXPECT_FALSE(fails(result.largest_passing));
    for (size_t piece = 0; piece < pieces; ++piece) {
      if (has(result.largest_passing, piece)) continue;
      PieceSet more = result.largest_passing;
      more.insert(std::lower_bound(more.begin(), more.end(), piece), piece);
      EXPECT_TRUE(fails(more)) << "a piece could be added";
    }
  }
}

TEST(Bisect, NoSubsetIsJudgedTwice) {
  std::mutex mutex;
  std::set<PieceSet> asked;
  const auto result = run(
      20,
      [&](const PieceSet& set) -> Result<SubsetAnswer> {
        const std::lock_guard lock(mutex);
        EXPECT_TRUE(asked.insert(set).second);
        return has(set, 2) && has(set, 17) ? SubsetAnswer::kFails : SubsetAnswer::kPasses;
      },
      4);
  EXPECT_EQ(result.questions, asked.size());
}

TEST(Bisect, TheLimitOfQuestionsGivesTheBestResultSoFar) {
  const SystemClock clock;
  BisectRequest request;
  request.pieces = 64;
  request.max_questions = 5;
  request.judge = fails_if([](const PieceSet& set) { return has(set, 63); });
  const auto result = bisect(request, clock);
  ASSERT_TRUE(result);
  EXPECT_FALSE(result->is_complete);
  EXPECT_TRUE(has(result->smallest_failing, 63));
  EXPECT_FALSE(has(result->largest_passing, 63));
  EXPECT_LE(result->questions, 5U);
}

TEST(Bisect, AnErrorOfTheJudgeIsReturned) {
  const SystemClock clock;
  BisectRequest request;
  request.pieces = 4;
  request.parallel = 2;
  request.judge = [](const PieceSet& set) -> Result<SubsetAnswer> {
    if (set.size() < 4) return fail(ErrorKind::kIo, "x", "disk gone");
    return SubsetAnswer::kFails;
  };
  const auto result = bisect(request, clock);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message, "disk gone");
}

}  // namespace
}  // namespace galley
