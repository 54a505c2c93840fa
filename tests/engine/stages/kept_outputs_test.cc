#include "engine/stages/kept_outputs.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/support/temp_directory.h"

namespace galley {
namespace {

OutputName named(int number) { return {"exec-" + std::to_string(number), "stdout"}; }

// Limit: kMaxKeptOutputs of engine/stages/kept_outputs.h
TEST(KeptOutputs, TheOldestMakesRoomForTheNext) {
  const TempDirectory stage;
  const int first = 100;
  const int count = static_cast<int>(kMaxKeptOutputs) + 2;
  for (int i = 0; i < count; ++i) {
    ASSERT_TRUE(keep_output(stage.directory(), named(first + i), "bot", std::to_string(i)));
  }
  for (int i = 0; i < count; ++i) {
    const auto read = kept_output(stage.directory(), named(first + i), "bot");
    EXPECT_EQ(read.has_value(), i >= 2) << i;
    if (read) {
      EXPECT_EQ(*read, std::to_string(i));
    }
  }
}

// Limit: kMaxKeptOutputBytes of engine/stages/kept_outputs.h
TEST(KeptOutputs, OneIsKeptUpToALimit) {
  const TempDirectory stage;
  const std::string text(kMaxKeptOutputBytes + 10, 'x');
  ASSERT_TRUE(keep_output(stage.directory(), named(1), "bot", text));
  EXPECT_EQ(kept_output(stage.directory(), named(1), "bot")->size(), kMaxKeptOutputBytes);
}

TEST(KeptOutputs, OnlyTheAgentThatCalledReadsIt) {
  const TempDirectory stage;
  ASSERT_TRUE(keep_output(stage.directory(), named(1), "bot", "text"));
  EXPECT_EQ(*kept_output(stage.directory(), named(1), "bot"), "text");
  for (const char* other : {"", "bo", "bot\nx"}) {
    const auto read = kept_output(stage.directory(), named(1), other);
    ASSERT_FALSE(read) << other;
    EXPECT_EQ(read.error().reason, "output.not_found");
  }
}

TEST(KeptOutputs, ANameThatIsNoneIsRefused) {
  const TempDirectory stage;
  for (const OutputName& name :
       {OutputName{"", "stdout"}, OutputName{"../exec", "stdout"}, OutputName{"exec/x", "stdout"},
        OutputName{std::string(65, 'x'), "stdout"}, OutputName{"exec", "overlay"},
        OutputName{"exec.stdout", ""}, OutputName{std::string("a\0b", 3), "stderr"}}) {
    EXPECT_EQ(keep_output(stage.directory(), name, "", "x").error().reason, "output.name");
    EXPECT_EQ(kept_output(stage.directory(), name, "").error().reason, "output.name");
  }
}

}  // namespace
}  // namespace galley
