#include "base/rel_path.h"

#include <gtest/gtest.h>

#include <type_traits>

namespace galley {
namespace {

TEST(RelPath, AcceptsPlainNamesAndDropsDotSlash) {
  EXPECT_EQ(RelPath::parse("a/b.c")->str(), "a/b.c");
  EXPECT_EQ(RelPath::parse("./a/b/")->str(), "a/b");
  EXPECT_EQ(RelPath::parse(".//a/b")->str(), "a/b");
  EXPECT_EQ(RelPath::parse(".//.///a")->str(), "a");
  EXPECT_EQ(RelPath::parse("a..b/...c")->str(), "a..b/...c");
}

TEST(RelPath, TextBecomesOneOnlyByParsing) {
  EXPECT_FALSE((std::is_constructible_v<RelPath, std::string>));
  EXPECT_FALSE((std::is_constructible_v<RelPath, std::string_view>));
  EXPECT_FALSE((std::is_constructible_v<RelPath, const char*>));
}

TEST(RelPath, EveryNameOfADirectoryEntryIsAPath) {
  for (const std::string_view name :
       {"two\nlines", "ta\tb", "\x1b[31m", "a\x7f", "q\"uote", "back\\slash", "a\xff"}) {
    const auto path = RelPath::parse(name);
    ASSERT_TRUE(path) << name;
    EXPECT_EQ(path->str(), name);
    EXPECT_EQ(RelPath::parse("d")->join(*path)->str(), "d/" + std::string(name));
  }
}

TEST(RelPath, RefusesAmbiguousAndEscapingPaths) {
  for (const std::string_view bad : {"", ".", "..", "../x", "a/../b", "a//b", "/etc/passwd",
                                     "a/./b", "a/..", ".//", ".//.", ".//../a"}) {
    const auto path = RelPath::parse(bad);
    ASSERT_FALSE(path) << bad;
    EXPECT_EQ(path.error().reason, "path.invalid");
    EXPECT_EQ(path.error().kind, ErrorKind::kInvalid);
  }
  EXPECT_FALSE(RelPath::parse(std::string_view("a\0b", 3)));
  EXPECT_FALSE(RelPath::parse(std::string(RelPath::kMaxComponentBytes + 1, 'a')));
  EXPECT_TRUE(RelPath::parse(std::string(RelPath::kMaxComponentBytes, 'a')));
}

// Limit: kMaxBytes of include/galley/path.h
// Limit: kMaxComponentBytes of include/galley/path.h
TEST(RelPath, BytesNamesAndLevelsAreBounded) {
  std::string deep = "a";
  for (size_t i = 1; i < RelPath::kMaxComponents; ++i) deep += "/a";
  EXPECT_TRUE(RelPath::parse(deep));
  EXPECT_FALSE(RelPath::parse(deep + "/a"));
  EXPECT_FALSE(RelPath::parse(deep)->join(*RelPath::parse("a")));
  const std::string name(RelPath::kMaxComponentBytes, 'a');
  EXPECT_TRUE(RelPath::parse(name));
  EXPECT_FALSE(RelPath::parse(name + "a"));
  std::string longest = name;
  while (longest.size() + 1 + name.size() <= RelPath::kMaxBytes) longest += "/" + name;
  EXPECT_TRUE(RelPath::parse(longest));
  EXPECT_FALSE(RelPath::parse(longest + "/" + name));
}

TEST(RelPath, AcceptsAbsolutePathsOnlyInsideTheRoot) {
  EXPECT_EQ(RelPath::parse_within("/w/a/b", "/w")->str(), "a/b");
  EXPECT_EQ(RelPath::parse_within("/w/a", "/w/")->str(), "a");
  EXPECT_EQ(RelPath::parse_within("/a", "/")->str(), "a");
  EXPECT_EQ(RelPath::parse_within("/w-evil/a", "/w").error().reason, "path.outside");
  EXPECT_EQ(RelPath::parse_within("/w", "/w").error().reason, "path.invalid");
}

TEST(RelPath, TakesAnAbsolutePathByWhatItsTextMeans) {
  for (const char* text : {"/w//a/b", "//w/a/b", "/w/./a/b/", "/w/../w/a/b", "/x/../w/a/c/../b"}) {
    const auto path = RelPath::parse_within(text, "/w");
    ASSERT_TRUE(path) << text << ": " << path.error().message;
    EXPECT_EQ(path->str(), "a/b") << text;
  }
  EXPECT_EQ(RelPath::parse_within("/../..//a", "/")->str(), "a");
  EXPECT_EQ(RelPath::parse_within("/w/a/..", "/w").error().reason, "path.invalid");
  for (const char* text : {"/w/../etc", "//etc", "/w/..", "/w/a/../../w-evil/a", "/", "/.."}) {
    EXPECT_EQ(RelPath::parse_within(text, "/w").error().reason, "path.outside") << text;
  }
}

TEST(RelPath, ReturnsItsNameParentAndComponents) {
  const RelPath path = *RelPath::parse("a/bc/d");
  EXPECT_EQ(path.name(), "d");
  EXPECT_EQ(path.parent().str(), "a/bc");
  EXPECT_TRUE(path.parent().parent().parent().is_root());
  EXPECT_EQ(path.components().size(), 3u);
  EXPECT_TRUE(path.is_below(*RelPath::parse("a")));
  EXPECT_FALSE(path.is_below(*RelPath::parse("a/b")));
  EXPECT_TRUE(path.is_below(RelPath::root()));
}

TEST(RelPath, RecognizesProtectedNamesInEverySpelling) {
  for (const char* name :
       {".git", "x/.GIT/y", ".galley/x", ".Sage", "git~1", ".git ", ".git...", ".git:stream",
        ".g\u200cit" /* HFS+ */, ".g\u200bit" /* ext4 */, ".\u017fage" /* long s */}) {
    EXPECT_TRUE(RelPath::parse(name)->is_protected()) << name;
  }
  EXPECT_FALSE(RelPath::parse(".gitignore")->is_protected());
  EXPECT_FALSE(RelPath::parse("git")->is_protected());
  EXPECT_FALSE(RelPath::parse(".g\u00efit")->is_protected());
}

TEST(RelPath, RecognizesTheConfigurationInEverySpelling) {
  for (const char* name :
       {"galley.toml", "src/Galley.TOML", "galley.toml/x", "galley.toml. ", "galley.toml:stream",
        "GALLEY~1.TOM", "gal\u200cley.toml", "galley\u00ad.toml", "\ufeffgalley.toml"}) {
    EXPECT_TRUE(RelPath::parse(name)->is_configuration()) << name;
  }
  for (const char* name :
       {"galley.tom", "my-galley.toml", "galley.toml.bak", "galley", ".galley"}) {
    EXPECT_FALSE(RelPath::parse(name)->is_configuration()) << name;
  }
}

}  // namespace
}  // namespace galley
