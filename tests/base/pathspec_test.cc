#include "base/glob.h"

#include <gtest/gtest.h>

namespace galley {
namespace {

TEST(Pathspec, NamesAPathADirectoryOrAPattern) {
  EXPECT_TRUE(pathspec_names("src/a.c", "src/a.c"));
  EXPECT_TRUE(pathspec_names("./src/a.c", "src/a.c"));
  EXPECT_TRUE(pathspec_names("src", "src/a.c"));
  EXPECT_TRUE(pathspec_names("src/", "src/deep/a.c"));
  EXPECT_TRUE(pathspec_names(".", "a.c"));
  EXPECT_TRUE(pathspec_names("*.c", "src/deep/a.c"));
  EXPECT_TRUE(pathspec_names("src/*.c", "src/deep/a.c"));
  EXPECT_TRUE(pathspec_names("a.?", "a.c"));
  EXPECT_FALSE(pathspec_names("sr", "src/a.c"));
  EXPECT_FALSE(pathspec_names("a.c", "src/a.c"));
  EXPECT_FALSE(pathspec_names("*.h", "src/a.c"));
}

TEST(Pathspec, FindsANameThatLooksLikeAPattern) {
  EXPECT_TRUE(pathspec_names("app/[id].tsx", "app/[id].tsx"));
  EXPECT_TRUE(pathspec_names("app/[id]", "app/[id]/page.tsx"));
}

TEST(Pathspec, SuggestsTheNearestPathOrDirectory) {
  const std::vector<std::string> paths = {"src/parse.c", "docs/limits.md"};
  EXPECT_EQ(nearest_pathspec("src/prase.c", paths), "src/parse.c");
  EXPECT_EQ(nearest_pathspec("dosc", paths), "docs");
  EXPECT_EQ(nearest_pathspec("parse.c", paths), "src/parse.c");
  EXPECT_EQ(nearest_pathspec("something/else", paths), std::nullopt);
}

}  // namespace
}  // namespace galley
