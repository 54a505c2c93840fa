#include "staging/sandbox/process_streams.h"

#include <gtest/gtest.h>

namespace galley {
namespace {

CapturedOutput capture(uint64_t limit, const std::vector<std::string>& pieces) {
  OutputCapture all(limit);
  for (const std::string& piece : pieces) all.append(piece);
  return std::move(all).finish();
}

TEST(OutputCapture, KeepsAllThatFits) {
  const CapturedOutput kept = capture(10, {"01234", "56789"});
  EXPECT_EQ(kept.text(), "0123456789");
  EXPECT_EQ(kept.omitted_bytes, 0U);
}

TEST(OutputCapture, KeepsHeadAndTailAndCountsTheRest) {
  const CapturedOutput kept = capture(8, {"abcdef", "ghijkl", "mnop"});
  EXPECT_EQ(kept.head, "abcd");
  EXPECT_EQ(kept.tail, "mnop");
  EXPECT_EQ(kept.omitted_bytes, 8U);
  EXPECT_EQ(kept.text(), "abcd\n[... 8 bytes left out ...]\nmnop");
}

TEST(OutputCapture, ThePiecesOfAStreamDoNotChangeTheResult) {
  std::string all;
  for (int i = 0; i < 500; ++i) all.push_back(static_cast<char>('a' + i % 26));
  for (const size_t limit : {1U, 2U, 7U, 64U, 499U, 500U, 501U}) {
    for (size_t step = 1; step < 90; step += 7) {
      std::vector<std::string> pieces;
      for (size_t at = 0; at < all.size(); at += step) pieces.push_back(all.substr(at, step));
      const CapturedOutput kept = capture(limit, pieces);
      ASSERT_EQ(kept.head.size() + kept.tail.size() + kept.omitted_bytes, all.size());
      ASSERT_TRUE(all.starts_with(kept.head));
      ASSERT_TRUE(kept.omitted_bytes == 0 || all.ends_with(kept.tail));
      ASSERT_LE(kept.head.size() + kept.tail.size(), limit);
    }
  }
}

TEST(OutputCapture, WithALimitOfZeroBytesAreOnlyCounted) {
  const CapturedOutput kept = capture(0, {"abc", "d"});
  EXPECT_EQ(kept.head + kept.tail, "");
  EXPECT_EQ(kept.omitted_bytes, 4U);
}

}  // namespace
}  // namespace galley
