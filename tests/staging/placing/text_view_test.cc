#include "staging/placing/text_view.h"

#include <gtest/gtest.h>

namespace galley {
namespace {

using namespace std::string_literals;

TEST(TextView, UnitsOfTwoBytesBehindAMarkAreUtf16) {
  const auto little = TextView::of(
      "\xFF\xFE"
      "a\0\n\0"s);
  ASSERT_TRUE(little);
  EXPECT_EQ(little->text(), "a\n");
  const auto big = TextView::of("\xFE\xFF\0a\0\n"s);
  ASSERT_TRUE(big);
  EXPECT_EQ(big->text(), "a\n");
}

TEST(TextView, EightBitTextThatBeginsLikeAMarkIsNotUtf16) {
  EXPECT_FALSE(TextView::of("\xFF\xFEline 1\nline 22\n"));
  EXPECT_FALSE(TextView::of("\xFE\xFFline 1\nline 22\n"));
  EXPECT_FALSE(TextView::of("\xFF\xFEline 1\nline 2\n"));
}

TEST(TextView, DamagedUtf16IsReadableAndHasNoView) {
  const std::string half = "a\0\x01\xD8\n\0x"s;
  EXPECT_EQ(readable_utf16(half, false), "a\xEF\xBF\xBD\n");
  EXPECT_FALSE(TextView::of("\xFF\xFE" + half.substr(0, 6)));
  EXPECT_EQ(readable_utf16("\xD8\x3D\xDE\x00\xDE\x00\xD8\x3D"s, true),
            "\xF0\x9F\x98\x80\xEF\xBF\xBD\xEF\xBF\xBD");
}

}  // namespace
}  // namespace galley
