#include "staging/printing/readable_diff.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace galley {
namespace {

std::string shown(std::string_view before, std::string_view after, size_t width = 50,
                  bool has_color = false) {
  const FilePair pair{"a.txt", "a.txt", git_mode::kRegular, git_mode::kRegular, before, after};
  DiffOptions options;
  options.color = has_color;
  std::string out;
  append_side_by_side(diff_file(pair), Lines(before), Lines(after), options, width, out);
  return out;
}

TEST(SideBySide, OldLinesAreNextToNewLines) {
  EXPECT_EQ(shown("one\ntwo\nthree\n", "one\n2\nthree\nfour\n"),
            "a.txt\n"
            "@@ line 1 @@\n"
            "   1 one                │    1 one\n"
            "   2 two                |    2 2\n"
            "   3 three              │    3 three\n"
            "                        >    4 four\n");
}

TEST(SideBySide, ALongLineContinuesBelow) {
  EXPECT_EQ(shown("", "abcdefghijklmnopqrstuvwxyz\n"),
            "a.txt\n"
            "@@ line 1 @@\n"
            "                        >    1 abcdefghijklmnopqr\n"
            "                               stuvwxyz\n");
}

TEST(SideBySide, TabsAndWideCharactersKeepTheColumns) {
  const std::string text = shown("\tx\n\xe6\x97\xa5\n", "\ty\n\xe6\x97\xa5\n");
  EXPECT_NE(text.find("   1         x          |    1         y\n"), text.npos) << text;
  EXPECT_NE(text.find("   2 \xe6\x97\xa5                 │    2 \xe6\x97\xa5\n"), text.npos)
      << text;
}

TEST(SideBySide, AContentCannotControlTheTerminal) {
  const std::string text = shown("a\n", "\033[31m\xe2\x80\xae\r\n");
  EXPECT_NE(text.find("\\x1b[31m<U+202E>^M"), text.npos) << text;
  EXPECT_EQ(text.find('\033'), text.npos);
}

TEST(SideBySide, ColorsMarkTheChangedText) {
  const std::string text = shown("a\n", "b\n", 50, true);
  EXPECT_NE(text.find("\033[31ma\033[m"), text.npos) << text;
  EXPECT_NE(text.find("\033[32mb\033[m"), text.npos);
}

}  // namespace
}  // namespace galley
