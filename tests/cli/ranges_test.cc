#include "cli/staged.h"

#include <gtest/gtest.h>

namespace galley {
namespace {

TEST(Ranges, AreDistinguishedFromPaths) {
  for (const char* word : {"a..b", "a...b", "origin/main..HEAD", "HEAD~2..", "v1.0..v1.1"}) {
    EXPECT_TRUE(is_range(word)) << word;
  }
  for (const char* word : {"a", "../a", "a/../b", "..", "../..", "a/..", "a.b", "./a", ""}) {
    EXPECT_FALSE(is_range(word)) << word;
  }
}

TEST(Ranges, HaveTwoSides) {
  const auto both = range_source("origin/main...side");
  ASSERT_TRUE(both.has_value());
  EXPECT_EQ(both->from, "origin/main");
  EXPECT_EQ(both->to, "side");
  EXPECT_EQ(range_source("main..")->to, "HEAD");
  EXPECT_EQ(range_source("..side").error().reason, "check.bad_range");
  EXPECT_EQ(range_source("main").error().reason, "check.bad_range");
}

}  // namespace
}  // namespace galley
