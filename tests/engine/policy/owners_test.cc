#include "engine/policy/owners.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/temp_directory.h"

namespace galley {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Needed = std::vector<std::vector<std::string>>;

Needed of(const std::vector<std::string>& lines, std::string_view path) {
  const auto owners = Owners::parse(lines);
  EXPECT_TRUE(owners) << owners.error().message;
  return owners->of(rel(path));
}

TEST(Owners, LastMatchDecidesAndALineWithoutOwnersRemovesThem) {
  const std::vector<std::string> lines = {
      "# who",       "*       @all @too # a comment", "*.js @js",     "/docs/ @docs",
      "/docs/free/", "a\\ b.txt user@example.org",    "/C#/ @sharp#1"};
  EXPECT_EQ(of(lines, "x/y.c"), (Needed{{"@all", "@too"}}));
  EXPECT_EQ(of(lines, "docs/y.js"), (Needed{{"@docs"}}));
  EXPECT_EQ(of(lines, "src/docs/y.js"), (Needed{{"@js"}}));
  EXPECT_THAT(of(lines, "docs/free/a/b"), IsEmpty());
  EXPECT_EQ(of(lines, "a b.txt"), (Needed{{"user@example.org"}}));
  EXPECT_EQ(of(lines, "C#/a"), (Needed{{"@sharp#1"}})) << "a # in a word is no comment";
}

TEST(Owners, AStarAtTheEndLeavesOutWhatLiesDeeper) {
  const std::vector<std::string> lines = {"* @root", "/docs/* @docs", "/all/** @all", "src/ @src"};
  EXPECT_EQ(of(lines, "docs/a"), (Needed{{"@docs"}}));
  EXPECT_EQ(of(lines, "docs/sub/a"), (Needed{{"@root"}}));
  EXPECT_EQ(of(lines, "all/sub/a"), (Needed{{"@all"}}));
  EXPECT_EQ(of(lines, "src/sub/a"), (Needed{{"@src"}}));
}

TEST(Owners, EachGitlabSectionDecidesIndependently) {
  const std::vector<std::string> lines = {"* @all",      "[Docs][2] @writers", "*.md",
                                          "api.md @api", "^[Optional]",        "*.md @nobody",
                                          "[DOCS]",      "late.md @late"};
  EXPECT_EQ(of(lines, "a.c"), (Needed{{"@all"}}));
  EXPECT_EQ(of(lines, "a.md"), (Needed{{"@all"}, {"@writers"}}));
  EXPECT_EQ(of(lines, "api.md"), (Needed{{"@all"}, {"@api"}}));
  EXPECT_EQ(of(lines, "late.md"), (Needed{{"@all"}, {"@late"}}));
}

TEST(Owners, AnExcludedPathHasNoOwnerAndAPatternMayBeginWithANumberSign) {
  const std::vector<std::string> lines = {"\\#file.rb @sharp", "[Ruby] @ruby", "*.rb",
                                          "!/config/**/*.rb"};
  EXPECT_EQ(of(lines, "#file.rb"), (Needed{{"@sharp"}, {"@ruby"}}));
  EXPECT_EQ(of(lines, "a.rb"), (Needed{{"@ruby"}}));
  EXPECT_THAT(of(lines, "config/x/a.rb"), IsEmpty());
}

TEST(Owners, AnInvalidLineIsNamed) {
  const auto owners = Owners::parse({"* @all", "a[ @b"});
  ASSERT_FALSE(owners);
  EXPECT_EQ(owners.error().reason, "owners.syntax");
  EXPECT_THAT(owners.error().message, HasSubstr("line 2 of owners"));
}

TEST(Owners, OwnersFilesAreFoundWhereGithubAndGitlabLook) {
  for (const char* place :
       {".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS", ".gitlab/CODEOWNERS"}) {
    const TempDirectory tree;
    tree.write(place, "* @here\n");
    const auto owners = Owners::load(tree.directory(), "", {"*.c @c"});
    ASSERT_TRUE(owners);
    EXPECT_EQ(owners->of(rel("a")), (Needed{{"@here"}})) << place;
    EXPECT_EQ(owners->of(rel("a.c")), (Needed{{"@c"}}));
  }
}

std::string load_reason(const TempDirectory& tree, const std::string& file) {
  const auto owners = Owners::load(tree.directory(), file, {});
  return owners ? "read" : owners.error().reason;
}

TEST(Owners, AFileThatCannotBeUsedIsRefused) {
  const TempDirectory tree;
  EXPECT_EQ(load_reason(tree, ""), "read") << "a workspace may have none";
  EXPECT_EQ(load_reason(tree, "own"), "owners.unusable") << "a named one must exist";
  tree.write("own/below", "");
  EXPECT_EQ(load_reason(tree, "own"), "owners.unusable");
  tree.write("real", "* @here\n");
  ASSERT_TRUE(tree.directory().make_symlink(rel("CODEOWNERS"), "real"));
  EXPECT_EQ(load_reason(tree, ""), "owners.unusable") << "a link is not followed";
  EXPECT_EQ(load_reason(tree, "CODEOWNERS"), "owners.unusable");
  EXPECT_EQ(load_reason(tree, "real"), "read");
  ASSERT_TRUE(tree.directory().remove_file(rel("CODEOWNERS")));
  ASSERT_TRUE(tree.directory().make_symlink(rel(".github"), "own"));
  EXPECT_EQ(load_reason(tree, ""), "owners.unusable") << "its folder is a link";
}

TEST(Owners, AMarkIsNoPartOfTheFirstPatternAndOddLineEndsAreRefused) {
  const TempDirectory tree;
  tree.write("CODEOWNERS", "\xef\xbb\xbf* @here\r\n*.c @c\r\n");
  const auto owners = Owners::load(tree.directory(), "", {});
  ASSERT_TRUE(owners);
  EXPECT_EQ(owners->of(rel("a")), (Needed{{"@here"}}));
  EXPECT_EQ(owners->of(rel("a.c")), (Needed{{"@c"}}));
  for (const std::string& text :
       {std::string("# c\r* @here\r"), std::string("\xff\xfe*\0 \0@\0x\0\n\0", 13)}) {
    tree.write("CODEOWNERS", text);
    EXPECT_EQ(load_reason(tree, ""), "owners.unusable") << text;
  }
}

TEST(Owners, ApproversAreComparedWithoutAtSignAndCase) {
  EXPECT_TRUE(is_owner("Ada", {"@ada"}));
  EXPECT_TRUE(is_owner("@core/team", {"@core/Team"}));
  EXPECT_FALSE(is_owner("", {"@ada"}));
  EXPECT_FALSE(is_owner("ad", {"@ada"}));
}

// Limit: kMaxFileBytes of engine/policy/owners.h
TEST(Owners, AFileBeyondTheLimitIsRefused) {
  const TempDirectory tree;
  std::string text = "* @here\n#";
  text.resize(Owners::kMaxFileBytes, 'x');
  tree.write("CODEOWNERS", text);
  EXPECT_TRUE(Owners::load(tree.directory(), "", {}));
  tree.write("CODEOWNERS", text + "x");
  const auto owners = Owners::load(tree.directory(), "", {});
  ASSERT_FALSE(owners);
  EXPECT_EQ(owners.error().reason, "limit.file_size");
}

}  // namespace
}  // namespace galley
