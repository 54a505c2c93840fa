#include "base/glob.h"

#include <gtest/gtest.h>

#include <chrono>

#include "base/ignore_rules.h"
#include "support/scratch_repository.h"
#include "support/temp_directory.h"

namespace galley {
namespace {

bool matches(std::string_view pattern, std::string_view path, bool is_directory = false) {
  const auto list = GlobList::parse({std::string(pattern)});
  EXPECT_TRUE(list) << pattern;
  return list && list->selects(rel(path), is_directory);
}

TEST(Glob, NameWithoutSlashMatchesAtAnyDepth) {
  EXPECT_TRUE(matches("*.o", "a.o"));
  EXPECT_TRUE(matches("*.o", "deep/er/a.o"));
  EXPECT_FALSE(matches("/*.o", "deep/a.o"));
  EXPECT_TRUE(matches("/*.o", "a.o"));
}

TEST(Glob, SlashInTheMiddleAnchors) {
  EXPECT_TRUE(matches("doc/*.txt", "doc/a.txt"));
  EXPECT_FALSE(matches("doc/*.txt", "x/doc/a.txt"));
  EXPECT_FALSE(matches("doc/*.txt", "doc/b/a.txt"));
}

TEST(Glob, TrailingSlashNamesDirectoriesAndAllBelow) {
  EXPECT_TRUE(matches("build/", "build/x/y.o"));
  EXPECT_TRUE(matches("build/", "a/build/y.o"));
  EXPECT_FALSE(matches("build/", "build"));
  EXPECT_TRUE(matches("build/", "build", true));
}

TEST(Glob, DoubleStarSpansDirectories) {
  EXPECT_TRUE(matches("a/**/b", "a/b"));
  EXPECT_TRUE(matches("a/**/b", "a/x/y/b"));
  EXPECT_FALSE(matches("a/**/b", "a/xb"));
  EXPECT_TRUE(matches("**/b", "b"));
  EXPECT_TRUE(matches("src/**", "src/deep/file.c"));
  EXPECT_FALSE(matches("src/**", "src"));
  EXPECT_FALSE(matches("a/b**/c", "a/b/x/c"));
}

TEST(Glob, ClassesAndEscapesMatchAsInGit) {
  EXPECT_TRUE(matches("[a-c].txt", "b.txt"));
  EXPECT_FALSE(matches("[!a-c].txt", "b.txt"));
  EXPECT_TRUE(matches("[]x].txt", "].txt"));
  EXPECT_TRUE(matches("[[:digit:]x]", "7"));
  EXPECT_FALSE(matches("a[/]b", "a/b"));
  EXPECT_TRUE(matches("\\!important", "!important"));
  EXPECT_TRUE(matches("\\*", "*"));
  EXPECT_FALSE(matches("\\*", "x"));
}

// Limit: kMaxPatternBytes of base/glob.h
TEST(Glob, PatternsThatGitNeverMatchesAreRefused) {
  for (const char* bad :
       {"", "!", "/", "# note", "a[b", "a\\", "a/../b", "./a", "a//b", "[[:x:]]"}) {
    EXPECT_FALSE(Glob::parse(bad)) << bad;
  }
  EXPECT_FALSE(Glob::parse(std::string(Glob::kMaxPatternBytes + 1, 'a')));
}

TEST(Glob, ALineBreakMatchesItself) {
  EXPECT_TRUE(Glob::parse("a\nb")->matches("x/a\nb", false));
  EXPECT_TRUE(Glob::parse("a*\nb")->matches("a1\nb", false));
  EXPECT_FALSE(Glob::parse("a\nb")->matches("ab", false));
  EXPECT_FALSE(Glob::parse(std::string_view("a\0b", 3)));
}

TEST(GlobList, LastMatchWinsAlsoBelowAMatchedDirectory) {
  const auto list = *GlobList::parse({"src/", "!src/gen/", "src/gen/keep.c"});
  EXPECT_TRUE(list.selects(rel("src/a.c")));
  EXPECT_FALSE(list.selects(rel("src/gen/a.c")));
  EXPECT_TRUE(list.selects(rel("src/gen/keep.c")));
}

// Limit: kMaxPatternBytes of base/glob.h
TEST(Glob, ManyStarsDoNotTakeExponentialTime) {
  std::string pattern;
  for (int i = 0; i < 300; ++i) pattern += "*a";
  pattern += "b";
  const std::string path(250, 'a');
  EXPECT_FALSE(matches(pattern, path));
  std::string deep = "x";
  for (int i = 0; i < 200; ++i) deep = "**/" + deep;
  std::string nested = "y";
  for (int i = 0; i < 200; ++i) nested = "a/" + nested;
  EXPECT_FALSE(matches(deep, nested));
}

/// Those of `paths` that a .gitignore of these patterns ignores.
std::vector<std::string> ignored_by_us(const std::vector<std::string>& patterns,
                                       const std::vector<std::string>& paths) {
  std::string text;
  for (const auto& pattern : patterns) text += pattern + "\n";
  IgnoreRules rules([&](const RelPath& in) { return in.is_root() ? text : std::string(); });
  std::vector<std::string> ignored;
  for (const auto& path : paths) {
    if (*rules.is_ignored(rel(path), false, [] { return false; })) ignored.push_back(path);
  }
  return ignored;
}

/// Compares with git itself, which is the definition.
class GlobOracle : public ::testing::Test {
 protected:
  GlobOracle() { tree_.init(); }

  /// Those of `paths` (a trailing / marks a directory) that git ignores.
  std::vector<std::string> ignored(const std::vector<std::string>& patterns,
                                   const std::vector<std::string>& paths) {
    std::string lines;
    for (const auto& pattern : patterns) lines += pattern + "\n";
    tree_.write(".gitignore", lines);
    std::string input;
    for (const auto& path : paths) input += path + '\0';
    tree_.write("input", input);
    tree_.git("check-ignore --no-index -z --stdin <input >output; test $? -le 1");
    std::vector<std::string> result;
    const std::string output = tree_.read("output");
    for (size_t begin = 0; begin < output.size();) {
      const size_t end = output.find('\0', begin);
      result.push_back(output.substr(begin, end - begin));
      begin = end + 1;
    }
    return result;
  }

  ScratchRepository tree_;
};

const std::vector<std::string>& tree_paths() {
  static const std::vector<std::string> kPaths = {
      "a",     "b",       "ab",        "abc",       "a.c",      "b.o",  "d/a",  "d/b",   "d/a.c",
      "d/e/a", "d/e/b.o", "d/e/f/a.c", "e/d/a",     "e/d/ab",   "x-y",  "x y",  "!a",    "#a",
      "[a]",   "a*b",     "d/[x]/a",   "d/e/f/g/a", "\xC3\xA9", "A",    "fooo", "d/foo", "foo/d",
      "a]",    "-",       "d/-a",      "a\\b",      "7",        "d/7/x"};
  return kPaths;
}

TEST_F(GlobOracle, SinglePatternsAgreeWithGit) {
  for (const std::string& path : tree_paths()) {
    if (path == "a" || path == "foo") continue;  // made as files below
    tree_.write(path == "d" ? "d/x" : path, "");
  }
  for (const char* pattern :
       {"a",       "a.c",         "*.c",         "/a",    "d/",      "d/*",         "d/**",
        "**/a",    "d/**/a",      "**",          "*",     "?",       "[ab]",        "[!a]*",
        "[^a-m]*", "d/e/",        "/d/e",        "e",     "e/",      "*/a",         "*/*/a",
        "a?c",     "\\a",         "\\#a",        "\\!a",  "\\[a\\]", "[[]a]",       "a\\*b",
        "x y",     "x\\ y",       "d/[[]x]/a",   "[]a]",  "[a-]",    "[[:digit:]]", "[[:alpha:]]*",
        "*b*",     "**/e/**",     "d/**/f/**/a", "*.?",   "d/e*",    "d*/a",        "/**/a",
        "/*",      "***/a",       "**/",         "*/",    "d/*/",    "\xC3\xA9",    "?\xA9",
        "[A-Z]",   "[[:upper:]]", "a[]]",        "[--0]", "[a\\-z]", "foo/*"}) {
    ASSERT_TRUE(Glob::parse(pattern)) << pattern;
    EXPECT_EQ(ignored_by_us({pattern}, tree_paths()), ignored({pattern}, tree_paths()))
        << "pattern: " << pattern;
  }
}

TEST_F(GlobOracle, RandomListsAgreeWithGit) {
  for (const std::string& path : tree_paths()) {
    if (path != "a" && path != "foo") tree_.write(path, "");
  }
  static const std::vector<std::string> kPieces = {"a",  "b",    "*",   "**",   "/",   "?",  "d",
                                                   "e",  "[ab]", "!",   "[!b]", ".c",  ".o", "/**/",
                                                   "f/", "*/",   "\\a", "foo",  "**/", "/**"};
  uint64_t state = 42;
  const auto next = [&state](size_t bound) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<size_t>(state >> 33U) % bound;
  };
  size_t compared = 0;
  for (int round = 0; round < 250; ++round) {
    std::vector<std::string> patterns;
    for (size_t i = 0; i < 1 + next(4); ++i) {
      std::string pattern = next(4) == 0 ? "!" : "";
      for (size_t j = 0; j < 1 + next(4); ++j) pattern += kPieces[next(kPieces.size())];
      // `x**/…`: git's literal-prefix shortcut disagrees with its own documentation.
      const size_t stars = pattern.find("**");
      const bool is_odd = stars != pattern.npos && stars > 0 && pattern[stars - 1] != '/' &&
                          pattern[stars - 1] != '!';
      if (!is_odd && Glob::parse(pattern)) patterns.push_back(pattern);
    }
    std::string text;
    for (const auto& pattern : patterns) text += pattern + "\n";
    EXPECT_EQ(ignored_by_us(patterns, tree_paths()), ignored(patterns, tree_paths())) << text;
    ++compared;
  }
  EXPECT_EQ(compared, 250U);
}

}  // namespace
}  // namespace galley
