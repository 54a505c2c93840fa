#include "server/nats/answer_book.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "tests/support/manual_clock.h"

namespace galley {
namespace {

TEST(AnswerBook, ReturnsTheFirstResultOfACall) {
  const ManualClock clock;
  AnswerBook book(clock);
  EXPECT_FALSE(book.find("s", "c"));
  book.keep("s", "c", {"hash", "one"});
  book.keep("s", "c", {"hash", "two"});
  ASSERT_TRUE(book.find("s", "c"));
  EXPECT_EQ(book.find("s", "c")->result, "one");
  EXPECT_FALSE(book.find("s", "other"));
  EXPECT_FALSE(book.find("other", "c"));
}

TEST(AnswerBook, ForgetsAResultAfterItsTime) {
  ManualClock clock;
  AnswerBook book(clock);
  book.keep("s", "c", {"hash", "one"});
  clock.pass(AnswerBook::kLast);
  EXPECT_TRUE(book.find("s", "c"));
  clock.pass(std::chrono::nanoseconds(1));
  EXPECT_FALSE(book.find("s", "c"));
}

TEST(AnswerBook, ForgetsAnOlderResultEarlier) {
  ManualClock clock;
  AnswerBook book(clock);
  book.keep("s", "new", {"hash", "one"});
  book.keep("s", "old", {"hash", "two"}, std::chrono::minutes(20));
  clock.pass(AnswerBook::kLast - std::chrono::minutes(20));
  EXPECT_TRUE(book.find("s", "old"));
  clock.pass(std::chrono::nanoseconds(1));
  EXPECT_FALSE(book.find("s", "old"));
  EXPECT_TRUE(book.find("s", "new"));
}

TEST(AnswerBook, DropsTheOldestResultBeyondItsLimits) {
  const ManualClock clock;
  AnswerBook book(clock);
  for (size_t i = 0; i <= AnswerBook::kMostAnswers; ++i) {
    book.keep("s", std::to_string(i), {"hash", "x"});
  }
  EXPECT_FALSE(book.find("s", "0"));
  EXPECT_TRUE(book.find("s", "1"));
  const std::string third(AnswerBook::kMostBytes / 3, 'x');
  for (const char* id : {"a", "b", "c", "d"}) book.keep("s", id, {"hash", third});
  EXPECT_FALSE(book.find("s", "a"));
  EXPECT_TRUE(book.find("s", "b"));
  EXPECT_TRUE(book.find("s", "d"));
  book.keep("s", "huge", {"hash", std::string(AnswerBook::kMostBytes + 1, 'x')});
  EXPECT_FALSE(book.find("s", "huge"));
  EXPECT_TRUE(book.find("s", "d"));
}

}  // namespace
}  // namespace galley
