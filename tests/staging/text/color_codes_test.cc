#include "staging/text/color_codes.h"

#include <gtest/gtest.h>

namespace galley {
namespace {

constexpr std::string_view kHeader =
    "\x1b[1mdiff --git a/f b/f\x1b[m\n\x1b[1m--- a/f\x1b[m\n\x1b[1m+++ b/f\x1b[m\n"
    "\x1b[36m@@ -1,2 +1,2 @@\x1b[m fn()\n";
constexpr std::string_view kPlainHeader =
    "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@ fn()\n";

struct Case {
  const char* name;
  std::string body;
  const char* plain;  ///< null: refused
};

class ColoredBody : public ::testing::TestWithParam<Case> {};

TEST_P(ColoredBody, LosesTheCodesOfTheDiffAndNothingElse) {
  const auto out = without_color_codes(std::string(kHeader) + GetParam().body);
  if (GetParam().plain == nullptr) {
    ASSERT_FALSE(out.has_value());
    EXPECT_EQ(out.error().reason, "edit.color_codes");
    EXPECT_NE(out.error().message.find("line "), std::string::npos);
    return;
  }
  ASSERT_TRUE(out.has_value()) << out.error().message;
  ASSERT_TRUE(out->has_value());
  EXPECT_EQ(**out, std::string(kPlainHeader) + GetParam().plain);
}

INSTANTIATE_TEST_SUITE_P(
    ByGit, ColoredBody,
    ::testing::Values(
        Case{"text", " a\x1b[m\n\x1b[31m-b\x1b[m\n\x1b[32m+\x1b[m\x1b[32mB\x1b[m\n",
             " a\n-b\n+B\n"},
        Case{"context_color",
             "\x1b[34m a\x1b[m\n\x1b[31m-b\x1b[m\n\x1b[32m+\x1b[m\x1b[32mB\x1b[m\n",
             " a\n-b\n+B\n"},
        Case{"empty", " \x1b[m\n\x1b[31m-\x1b[m\n\x1b[32m+\x1b[m\n", " \n-\n+\n"},
        Case{"marked_end",
             " a\x1b[m\n\x1b[31m-b\x1b[m\n\x1b[32m+\x1b[m\x1b[32mB\x1b[m\x1b[41m  \x1b[m\n",
             " a\n-b\n+B  \n"},
        Case{"marked_indent",
             " a\x1b[m\n\x1b[31m-b\x1b[m\n\x1b[32m+\x1b[m\x1b[41m \x1b[m\t\x1b[32mB\x1b[m\n",
             " a\n-b\n+ \tB\n"},
        Case{"only_marked", " a\x1b[m\n\x1b[31m-b\x1b[m\n\x1b[32m+\x1b[m\x1b[41m \t\x1b[m\n",
             " a\n-b\n+ \t\n"},
        Case{"carriage_returns",
             " a\x1b[m\r\n\x1b[31m-b\x1b[m\r\n\x1b[32m+\x1b[m\x1b[32mB\x1b[m\x1b[41m\r\x1b[m\n",
             " a\r\n-b\r\n+B\r\n"},
        Case{"no_newline",
             " a\x1b[m\n\x1b[31m-b\x1b[m\n\\ No newline at end of file\x1b[m\n"
             "\x1b[32m+\x1b[m\x1b[32mB\x1b[m\n",
             " a\n-b\n\\ No newline at end of file\n+B\n"},
        Case{"escape_in_context", " a\x1b[1mb\x1b[m\n\x1b[31m-b\x1b[m\n", nullptr},
        Case{"escape_in_removed", " a\x1b[m\n\x1b[31m-b\x1b[0m\x1b[m\n", nullptr},
        Case{"escape_first_in_added",
             " a\x1b[m\n\x1b[31m-b\x1b[m\n\x1b[32m+\x1b[m\x1b[32m\x1b[1mB\x1b[m\n", nullptr},
        Case{"escape_like_the_diffs",
             " a\x1b[m\n\x1b[31m-b\x1b[m\n\x1b[32m+\x1b[m\x1b[32mB\x1b[m \x1b[32mC\x1b[m\n",
             nullptr},
        Case{"words", "a \x1b[31m[-b-]\x1b[m\x1b[32m{+c+}\x1b[m\n", nullptr}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(ColorCodes, OfGnuDiffGo) {
  const auto out = without_color_codes(
      "\x1b[1m--- f1\t2026-01-01\x1b[0m\n\x1b[1m+++ f2\t2026-01-01\x1b[0m\n"
      "\x1b[36m@@ -1,2 +1,2 @@\x1b[0m\n a\x1b[1mb\n\x1b[31m-b\x1b[0m\n\x1b[32m+B  \x1b[0m\n");
  ASSERT_TRUE(out.has_value() && out->has_value());
  EXPECT_EQ(**out,
            "--- f1\t2026-01-01\n+++ f2\t2026-01-01\n@@ -1,2 +1,2 @@\n a\x1b[1mb\n-b\n+B  \n");
}

TEST(ColorCodes, OfALogWithStatisticsGo) {
  const auto out = without_color_codes(
      "\x1b[33mcommit 1234\x1b[m\n\n    subject\n\n f | 2 \x1b[32m+\x1b[m\x1b[31m-\x1b[m\n" +
      std::string(kHeader) +
      " a\x1b[m\n\x1b[31m-b\x1b[m\n\x1b[32m+\x1b[m\x1b[32mB\x1b[m\n"
      " g | 2 \x1b[32m+\x1b[m\x1b[31m-\x1b[m\n");
  ASSERT_TRUE(out.has_value() && out->has_value());
  EXPECT_EQ(**out, "commit 1234\n\n    subject\n\n f | 2 +-\n" + std::string(kPlainHeader) +
                       " a\n-b\n+B\n g | 2 +-\n");
}

TEST(ColorCodes, APlainDiffOfAFileWithEscapesIsLeftAlone) {
  const auto out = without_color_codes(std::string(kPlainHeader) +
                                       " a\n-\x1b[31mb\x1b[m\n+\x1b[36m@@ -1 +1 @@\x1b[m\n");
  ASSERT_TRUE(out.has_value());
  EXPECT_FALSE(out->has_value());
}

}  // namespace
}  // namespace galley
