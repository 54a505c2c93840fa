#include "staging/sandbox/terminal/run_socket.h"

#include <gtest/gtest.h>

#include <string>

namespace galley {
namespace {

TEST(RunFrames, MessagesThatArriveInPiecesAreWhole) {
  const std::string sent =
      run_frame(RunMessage::kOutput, "hello") + run_frame(RunMessage::kInputEnd, "");
  RunFrameReader reader;
  std::string kinds;
  std::string text;
  for (const char byte : sent) {
    reader.feed({&byte, 1});
    while (const auto frame = reader.next()) {
      kinds.push_back(static_cast<char>(frame->kind));
      text += frame->text;
    }
  }
  EXPECT_EQ(kinds, "oe");
  EXPECT_EQ(text, "hello");
  EXPECT_FALSE(reader.is_broken());
}

// Limit: kMaxRunFrameBytes of staging/sandbox/terminal/run_socket.h
TEST(RunFrames, AMessageOverTheLimitBreaksTheStream) {
  RunFrameReader reader;
  reader.feed(run_frame(RunMessage::kInput, std::string(kMaxRunFrameBytes + 1, 'x')));
  EXPECT_FALSE(reader.next());
  EXPECT_TRUE(reader.is_broken());
  reader.feed(run_frame(RunMessage::kStop, ""));
  EXPECT_FALSE(reader.next());
}

TEST(RunFrames, AMessageOfTheLargestSizeIsRead) {
  RunFrameReader reader;
  reader.feed(run_frame(RunMessage::kInput, std::string(kMaxRunFrameBytes, 'x')));
  const auto frame = reader.next();
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->text.size(), kMaxRunFrameBytes);
}

TEST(RunFrames, AScreenDecodesToTheSentSize) {
  const auto screen = RunScreen::decode(RunScreen{40, 132}.encode());
  ASSERT_TRUE(screen);
  EXPECT_EQ(screen->rows, 40);
  EXPECT_EQ(screen->columns, 132);
  EXPECT_FALSE(RunScreen::decode("x"));
  EXPECT_FALSE(RunScreen::decode(""));
}

}  // namespace
}  // namespace galley
