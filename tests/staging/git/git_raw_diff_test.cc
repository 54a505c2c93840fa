#include "staging/git/git_program.h"

#include <gtest/gtest.h>

#include <string>

namespace galley {
namespace {

using namespace std::string_literals;

TEST(GitRawDiff, ReadsChangesAndRenames) {
  const auto diff = parse_raw_diff(
      ":100644 100755 aa bb M\0a b\0:100644 100644 cc cc R100\0old\0new\0:000000 160000 00 dd A\0m\0"s);
  ASSERT_TRUE(diff.has_value());
  ASSERT_EQ(diff->size(), 3U);
  EXPECT_EQ((*diff)[0].path, "a b");
  EXPECT_EQ((*diff)[0].old_mode, 0100644U);
  EXPECT_EQ((*diff)[0].new_mode, 0100755U);
  EXPECT_EQ((*diff)[0].new_id, "bb");
  EXPECT_EQ((*diff)[1].from, "old");
  EXPECT_EQ((*diff)[1].path, "new");
  EXPECT_EQ((*diff)[1].status, 'R');
  EXPECT_EQ((*diff)[2].new_mode, 0160000U);
}

TEST(GitRawDiff, AnEmptyTextHasNoChanges) { EXPECT_TRUE(parse_raw_diff("")->empty()); }

TEST(GitRawDiff, ATruncatedOrMalformedDiffIsAnError) {
  const std::string whole = ":100644 100644 cc cc R100\0old\0new\0"s;
  for (const std::string& text :
       {"x"s, ":100644\0f\0"s, ":100644 100644 aa bb M"s, whole.substr(0, whole.size() - 4),
        ":100644 100644 aa bb Q\0f\0"s}) {
    EXPECT_EQ(parse_raw_diff(text).error().reason, "git.bad_diff") << text;
  }
}

}  // namespace
}  // namespace galley
