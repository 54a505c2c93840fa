#include "base/text.h"

#include <gtest/gtest.h>

#include <string_view>

namespace galley {
namespace {

TEST(Text, WhiteSpaceIsThatOfTheCLocale) {
  for (int byte = 0; byte < 256; ++byte) {
    const bool is_expected = byte == ' ' || (byte >= 9 && byte <= 13);
    EXPECT_EQ(is_space(static_cast<char>(byte)), is_expected) << byte;
    EXPECT_EQ(kSpaces.find(static_cast<char>(byte)) != kSpaces.npos, is_expected) << byte;
  }
}

TEST(Text, PlainSpaceHasNoVerticalTabAndNoFormFeed) {
  for (int byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    const bool is_expected = is_space(c) && c != '\v' && c != '\f';
    EXPECT_EQ(is_plain_space(c), is_expected) << byte;
    EXPECT_EQ(kPlainSpaces.find(c) != kPlainSpaces.npos, is_expected) << byte;
  }
}

TEST(Text, OnlyAsciiDigitsAreDigits) {
  for (int byte = 0; byte < 256; ++byte) {
    EXPECT_EQ(is_digit(static_cast<char>(byte)), byte >= '0' && byte <= '9') << byte;
  }
}

TEST(Text, OnlyAsciiLettersAreLowered) {
  EXPECT_EQ(to_lower("AZaz09@[`{"), "azaz09@[`{");
  EXPECT_EQ(to_lower("\xc3\x84\xc4\xb0"), "\xc3\x84\xc4\xb0");
}

TEST(Text, TrimRemovesTheGivenCharacters) {
  EXPECT_EQ(trim(" \t a b\r\n"), "a b");
  EXPECT_EQ(trim(" \ta\r", kSpaceAndTab), "a\r");
  EXPECT_EQ(trim_end(" a \n"), " a");
  EXPECT_EQ(trim_end(" a\r ", " "), " a\r");
}

TEST(Text, ABlankTextTrimsToNothing) {
  for (const char* text : {"", " ", "\t\r\n\v\f "}) {
    EXPECT_EQ(trim(text), "");
    EXPECT_EQ(trim_end(text), "");
    EXPECT_TRUE(is_blank(text));
  }
  EXPECT_FALSE(is_blank(" x "));
  EXPECT_FALSE(is_blank("\n", kSpaceAndTab));
  EXPECT_FALSE(is_blank(std::string_view("\0", 1)));
}

TEST(Text, JoinPutsTheSeparatorBetweenTheTexts) {
  EXPECT_EQ(join({}), "");
  EXPECT_EQ(join({"a"}), "a");
  EXPECT_EQ(join({"", "", "b"}), ", , b");
  EXPECT_EQ(join({"a", "b"}, "\n"), "a\nb");
}

TEST(Text, JoinSomeCountsTheOmittedTexts) {
  EXPECT_EQ(join_some({"a", "b"}, 2), "a, b");
  EXPECT_EQ(join_some({"a", "b", "c", "d", "e"}, 2), "a, b and 3 more");
  EXPECT_EQ(join_some({}, 0), "");
}

}  // namespace
}  // namespace galley
