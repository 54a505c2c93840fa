// The table against git itself is tests/system/test_white_space_fix.py.
#include "staging/placing/white_space.h"

#include <gtest/gtest.h>

namespace galley {
namespace {

TEST(WhiteSpace, RulesAreReadAsGitReadsThem) {
  EXPECT_EQ(white_space_rules(""), WhiteSpaceRules());
  const WhiteSpaceRules rules =
      white_space_rules("-trailing-space, tab-in-indent,cr-at-eol tabwidth=4,unknown");
  EXPECT_FALSE(rules.blank_at_eol || rules.blank_at_eof);
  EXPECT_TRUE(rules.space_before_tab && rules.tab_in_indent && rules.cr_at_eol);
  EXPECT_EQ(rules.tab_width, 4U);
  EXPECT_EQ(white_space_rules("tabwidth=0,tabwidth=64,tabwidth=x").tab_width, 8U);
}

TEST(WhiteSpace, ErrorsHaveGitsNames) {
  const WhiteSpaceRules plain;
  EXPECT_EQ(white_space_errors("a\n", plain), "");
  EXPECT_EQ(white_space_errors("\n", plain), "");
  EXPECT_EQ(white_space_errors(" \ta \n", plain),
            "trailing whitespace, space before tab in indent");
  EXPECT_EQ(white_space_errors("\ta\n", white_space_rules("tab-in-indent")), "tab in indent");
  EXPECT_EQ(white_space_errors("        a\n", white_space_rules("indent-with-non-tab")),
            "indent with spaces");
  EXPECT_EQ(white_space_errors("a\r\n", plain), "trailing whitespace");
  EXPECT_EQ(white_space_errors("a\r\n", white_space_rules("cr-at-eol")), "");
}

TEST(WhiteSpace, WhiteSpaceErrorsOfALineAreFixed) {
  const WhiteSpaceRules plain;
  EXPECT_EQ(mended_line("  a \t\n", plain), "  a\n");
  EXPECT_EQ(mended_line("a  ", plain), "a");
  EXPECT_EQ(mended_line("    \ta\n", plain), "\ta\n");
  EXPECT_EQ(mended_line("        \ta\n", plain), "\t\ta\n");
  EXPECT_EQ(mended_line("a \r\n", white_space_rules("cr-at-eol")), "a\r\n");
  EXPECT_EQ(mended_line("          a\n", white_space_rules("indent-with-non-tab")), "\t  a\n");
  EXPECT_EQ(mended_line("  \ta\n", white_space_rules("tab-in-indent,-space-before-tab,tabwidth=4")),
            "    a\n");
}

TEST(WhiteSpace, BlankLinesAtTheEndAreRemoved) {
  EXPECT_EQ(without_last_blank_lines("a\n\n \n", 2), "a\n");
  EXPECT_EQ(without_last_blank_lines("a\n\n\n", 1), "a\n\n");
  EXPECT_EQ(without_last_blank_lines("a\n", 3), "a\n");
  EXPECT_EQ(without_last_blank_lines("\n\n", 2), "");
  EXPECT_EQ(without_last_blank_lines("", 1), "");
}

}  // namespace
}  // namespace galley
