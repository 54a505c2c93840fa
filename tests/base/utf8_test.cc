#include "base/text.h"

#include <gtest/gtest.h>

#include <string>

namespace galley {
namespace {

TEST(Utf8, AcceptsWellFormedText) {
  for (const std::string text :
       {"", "plain ascii text", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\xf4\x8f\xbf\xbf",
        "\xed\x9f\xbf", "\xee\x80\x80"}) {
    EXPECT_TRUE(is_utf8(text)) << text;
    EXPECT_TRUE(is_utf8("0123456" + text + "abcdefghijk")) << text;
  }
  EXPECT_TRUE(is_utf8(std::string("\0x", 2)));
}

TEST(Utf8, RefusesSequencesThatRfc3629Forbids) {
  for (const std::string text : {"\x80", "\xc0\x80", "\xc1\xbf", "\xe0\x9f\xbf", "\xed\xa0\x80",
                                 "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff",
                                 "\xc3", "\xe2\x82", "\xf0\x9f\x98", "\xc3(", "\xe2(\xa1"}) {
    EXPECT_FALSE(is_utf8(text));
    EXPECT_FALSE(is_utf8("0123456" + text));
    EXPECT_FALSE(is_utf8(text + "abcdefghijklmnop"));
  }
}

TEST(Utf8, FindsTheOffsetOfTheFirstInvalidByte) {
  EXPECT_FALSE(first_invalid_utf8(""));
  EXPECT_EQ(first_invalid_utf8("plain text of many bytes \xff"), 25U);
  EXPECT_EQ(first_invalid_utf8("ab\xE2\x82"), 2U);
  EXPECT_EQ(utf8_sequence_length("\xE2\x82\xAC", 0), 3U);
  EXPECT_EQ(utf8_sequence_length("\xE2\x82\xAC", 1), 0U);
  EXPECT_EQ(utf8_sequence_length("a", 1), 0U);
}

}  // namespace
}  // namespace galley
