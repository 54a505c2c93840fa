#include "staging/sandbox/retention_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/temp_directory.h"

namespace galley {
namespace {

using ::testing::HasSubstr;

class RetentionSetTest : public ::testing::Test {
 protected:
  Result<RetentionSet> take(const Command& command) {
    return RetentionSet::take(home_.path(), command, *home_.directory().stat(RelPath::root()),
                              clock_);
  }
  static Command command(const std::string& name) {
    Command command;
    command.keep = {rel("build"), rel("deep/cache")};
    command.keep_name = name;
    command.limits.wall = std::chrono::milliseconds(20);
    return command;
  }

  TempDirectory home_;
  SystemClock clock_;
};

TEST_F(RetentionSetTest, OnlyTheSameNameGetsTheSameDirectories) {
  const auto paths = take(command("lint/../x"))->paths();
  ASSERT_EQ(paths.size(), 2U);
  EXPECT_NE(paths[0], paths[1]);
  EXPECT_EQ(take(command("lint/../x"))->paths(), paths);
  EXPECT_NE(take(command("other"))->paths()[0], paths[0]);
  for (const std::string& path : paths) EXPECT_THAT(path, HasSubstr(home_.path() + "/"));
}

TEST_F(RetentionSetTest, OnlyOneRunHoldsTheDirectories) {
  {
    const auto first = take(command("lint"));
    ASSERT_TRUE(first);
    EXPECT_EQ(take(command("lint")).error().reason, "sandbox.keep_busy");
    EXPECT_TRUE(take(command("other")));
  }
  EXPECT_TRUE(take(command("lint")));
}

TEST_F(RetentionSetTest, AStoppedCommandDoesNotWait) {
  const auto first = take(command("lint"));
  std::stop_source stop;
  stop.request_stop();
  Command second = command("lint");
  second.limits.wall = std::chrono::hours(1);
  second.stop = stop.get_token();
  EXPECT_EQ(take(second).error().reason, "sandbox.cancelled");
}

TEST_F(RetentionSetTest, ACommandThatKeepsNothingMakesNoDirectory) {
  ASSERT_TRUE(take(Command()));
  EXPECT_TRUE(home_.directory().list()->empty());
}

}  // namespace
}  // namespace galley
