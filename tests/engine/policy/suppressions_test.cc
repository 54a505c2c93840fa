#include "engine/policy/suppressions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace galley {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

Suppression only(std::string_view text) {
  const auto all = suppressions_in(text);
  EXPECT_THAT(all, SizeIs(1)) << text;
  return all.empty() ? Suppression() : all.front();
}

TEST(Suppressions, ASuppressionAppliesToItsLineOrIfAloneToTheNextLine) {
  EXPECT_EQ(only("x = 1  # galley:allow lint.E1 -- why\n"),
            (Suppression{1, 1, {"lint.E1"}, "why"}));
  EXPECT_EQ(only("\n  // galley:allow a, b.c -- two words\nx\n"),
            (Suppression{2, 3, {"a", "b.c"}, "two words"}));
}

TEST(Suppressions, ReasonEndsWithTheComment) {
  EXPECT_EQ(only("/* galley:allow a -- why */").reason, "why");
  EXPECT_EQ(only("<!-- galley:allow a -- why -->").reason, "why");
  EXPECT_EQ(only("# galley:allow a -- one -- two\r\n").reason, "one -- two");
}

TEST(Suppressions, WithoutRuleOrReasonItSuppressesNothing) {
  for (const char* text : {"# galley:allow", "# galley:allow a", "# galley:allow -- why",
                           "# galley:allow a --", "# galley:allow a -- ", "# galley:allow * -- why",
                           "# galley:allow a b -- why", "<!-- galley:allow a -->"}) {
    EXPECT_EQ(only(text).reason, "") << text;
  }
}

TEST(Suppressions, ControlCharactersOfAReasonAreEscaped) {
  EXPECT_EQ(only("# galley:allow a -- x\x1b[2J\n").reason, "x\\x1b[2J");
}

TEST(Suppressions, SuppressionsWithNewWordsOrNewCodeAreAdded) {
  const std::string old = "// galley:allow a -- why\nint x;\n";
  EXPECT_THAT(added_suppressions(old, "int y;\n" + old), IsEmpty());
  EXPECT_THAT(added_suppressions(old, old + old), SizeIs(1));
  EXPECT_THAT(added_suppressions(old, "// galley:allow a -- why\nint y;\n"), SizeIs(1));
  EXPECT_THAT(added_suppressions(old, "// galley:allow a, b -- why\nint x;\n"), SizeIs(1));
  EXPECT_THAT(
      added_suppressions("int x; // galley:allow a -- why\n", "int y; // galley:allow a -- why\n"),
      SizeIs(1));
}

// Limit: kMaxSuppressionFileBytes of engine/policy/suppressions.h
TEST(Suppressions, AFileBeyondTheLimitSuppressesNothing) {
  std::string text = "// galley:allow a -- why\n";
  text.resize(kMaxSuppressionFileBytes, 'x');
  EXPECT_THAT(suppressions_in(text), SizeIs(1));
  EXPECT_THAT(suppressions_in(text + "x"), IsEmpty());
}

// Limit: kMaxSuppressions of engine/policy/suppressions.h
TEST(Suppressions, OnlyTheFirstOfAFileCount) {
  std::string text;
  for (size_t i = 0; i <= kMaxSuppressions; ++i) text += "x  // galley:allow a -- why\n";
  const auto all = suppressions_in(text);
  ASSERT_THAT(all, SizeIs(kMaxSuppressions));
  EXPECT_EQ(all.back().line, kMaxSuppressions);
}

}  // namespace
}  // namespace galley
