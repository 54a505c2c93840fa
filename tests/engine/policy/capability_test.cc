#include "engine/policy/capability.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/glob.h"

namespace galley {
namespace {

std::string capability_reason(std::string_view text) {
  const auto parsed = Capability::parse(text);
  return parsed ? "accepted" : parsed.error().reason;
}

/// Whether a list gives what is needed.
bool given(const std::vector<std::string>& texts, std::string_view needed) {
  const auto all = parse_capabilities(texts);
  EXPECT_TRUE(all) << all.error().message;
  return all && gives(*all, Need::of(needed));
}

TEST(CapabilityTest, OpenDomainsHaveAStrictSyntax) {
  for (const char* good : {"custom:deploy", "git:commit", "custom:*", "!custom:deploy", "*:*",
                           "a.b-c_1:x?", "db:write:orders", "db:write:*", "sec:grant"}) {
    EXPECT_EQ(capability_reason(good), "accepted") << good;
  }
  for (const char* bad : {"custom", "custom:", ":deploy", "cus tom:x", "custom:a b", "custom:a:",
                          "fs:fly", "net:example.org", "net:host:example.org", "exec:", "\n:x"}) {
    EXPECT_EQ(capability_reason(bad), "capability.invalid") << bad;
  }
  EXPECT_EQ(capability_reason("custom:" + std::string(2000, 'x')), "capability.invalid");
}

TEST(CapabilityTest, OpenDomainsMatchByWildcards) {
  EXPECT_TRUE(given({"custom:deploy"}, "custom:deploy"));
  EXPECT_FALSE(given({"custom:deploy"}, "custom:delete"));
  EXPECT_TRUE(given({"custom:*"}, "custom:deploy"));
  EXPECT_TRUE(given({"custom:de*"}, "custom:deploy"));
  EXPECT_FALSE(given({"custom:*"}, "git:commit"));
  EXPECT_TRUE(given({"*:*"}, "git:commit"));
  EXPECT_TRUE(given({"db:write"}, "db:write:orders"));
  EXPECT_TRUE(given({"db:write:or*"}, "db:write:orders"));
  EXPECT_FALSE(given({"db:write:users"}, "db:write:orders"));
}

TEST(CapabilityTest, APartOfAnOpenNeedIsNotEnough) {
  EXPECT_FALSE(given({"db:write:users"}, "db:write"));
  EXPECT_FALSE(given({"custom:deploy"}, "custom"));
  EXPECT_TRUE(given({"custom:*"}, "custom"));
  EXPECT_TRUE(given({"fs:write:src/**"}, "fs:write")) << "the path is judged when it is known";
  EXPECT_TRUE(given({"exec:git"}, "exec"));
}

TEST(CapabilityTest, TheWildcardDomainDoesNotIncludeFilesProgramsOrNetwork) {
  for (const char* closed : {"fs:read", "fs:write", "exec", "exec:git", "net:host"}) {
    EXPECT_FALSE(given({"*:*"}, closed)) << closed;
  }
}

TEST(CapabilityTest, ADenialRevokesWhatItCovers) {
  EXPECT_FALSE(given({"custom:*", "!custom:deploy"}, "custom:deploy"));
  EXPECT_TRUE(given({"custom:*", "!custom:deploy"}, "custom:build"));
  EXPECT_TRUE(given({"!custom:deploy", "custom:*"}, "custom:deploy")) << "the last match wins";
  EXPECT_FALSE(given({"fs:write", "!fs:write"}, "fs:write"));
  EXPECT_TRUE(given({"fs:write", "!fs:write:src/"}, "fs:write")) << "something is left";
  EXPECT_FALSE(given({"exec:*", "!exec:git"}, "exec:git"));
  EXPECT_FALSE(given({"net:host", "net:none"}, "net:host"));
}

TEST(CapabilityTest, ANeedIsGivenInTheSameWayWithoutMakingIt) {
  const std::vector<std::string> texts = {
      "fs:read",    "fs:write:src/**", "!fs:read:src/", "exec:*",         "!exec:git", "*:*",
      "custom:de*", "net:none",        "net:host",      "!custom:deploy", "fs:delete", "f*:read"};
  const std::vector<std::string> needs = {"fs:read",  "fs:write", "fs",       "exec",
                                          "exec:git", "net:host", "net",      "custom:deploy",
                                          "custom",   "db:write", "fs:delete"};
  const std::vector<RelPath> paths = {RelPath::parse("a").value(), RelPath::parse("src/a").value()};
  for (const std::string& one : texts) {
    for (const std::string& other : texts) {
      const Capabilities all = parse_capabilities({one, other}).value();
      for (const std::string& needed : needs) {
        EXPECT_EQ(gives(all, needed), gives(all, Need::of(needed))) << one << other << needed;
        const Capability& last = all.back();
        const bool is_last = last.is_denial ? last.covers(needed) : last.concerns(needed);
        EXPECT_EQ(deciding_capability(all, Need::of(needed)) == &last, is_last) << other << needed;
      }
      for (const RelPath& path : paths) {
        EXPECT_EQ(gives_file(all, "read", path), gives(all, Need::file("read", path)))
            << one << other;
      }
    }
  }
}

TEST(CapabilityTest, ASuggestedCapabilityAllowsOneFileOnly) {
  for (const char* name : {"*", "[ab]", "a\\b", "!a", "#a", "a ", "x?", "two\nlines"}) {
    const Need need = Need::file("write", RelPath::parse(name).value());
    const auto capabilities = parse_capabilities({need.text});
    ASSERT_TRUE(capabilities) << need.text;
    EXPECT_TRUE(gives(*capabilities, need)) << need.text;
    EXPECT_FALSE(gives(*capabilities, Need::file("write", RelPath::parse("b").value()))) << name;
  }
}

TEST(NamePattern, StarMatchesAnyTextAndQuestionMarkOneCharacter) {
  EXPECT_TRUE(name_matches("a*c", "abbc"));
  EXPECT_TRUE(name_matches("*", ""));
  EXPECT_TRUE(name_matches("a?c", "abc"));
  EXPECT_FALSE(name_matches("a?c", "ac"));
  EXPECT_FALSE(name_matches("", "a"));
  const std::string many(2000, 'a');
  EXPECT_FALSE(name_matches("*a*a*a*a*a*a*a*a*b", many)) << "takes no exponential time";
}

}  // namespace
}  // namespace galley
