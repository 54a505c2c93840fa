#include "staging/formats/read_edits.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

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

TEST_P(ColoredBody, OnlyTheColorCodesOfTheDiffAreRemoved) {
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
    [](const auto& test) { return std::string(test.param.name); });

TEST(ColorCodes, ColorCodesOfGnuDiffAreRemoved) {
  const auto out = without_color_codes(
      "\x1b[1m--- f1\t2026-01-01\x1b[0m\n\x1b[1m+++ f2\t2026-01-01\x1b[0m\n"
      "\x1b[36m@@ -1,2 +1,2 @@\x1b[0m\n a\x1b[1mb\n\x1b[31m-b\x1b[0m\n\x1b[32m+B  \x1b[0m\n");
  ASSERT_TRUE(out.has_value() && out->has_value());
  EXPECT_EQ(**out,
            "--- f1\t2026-01-01\n+++ f2\t2026-01-01\n@@ -1,2 +1,2 @@\n a\x1b[1mb\n-b\n+B  \n");
}

TEST(ColorCodes, ColorCodesOfALogWithStatisticsAreRemoved) {
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

/// An added line as git colors it (ws.c, ws_check_emit, with the default rules).
std::string colored_by_git(std::string_view line) {
  const std::string reset = "\x1b[m";
  const std::string color = "\x1b[32m";
  const std::string wrong = "\x1b[41m";
  const size_t kept = line.find_last_not_of(" \t\r") + 1;
  std::string out = color + "+" + reset;
  size_t written = 0;
  size_t i = 0;
  for (; i < kept && (line[i] == ' ' || line[i] == '\t'); ++i) {
    if (line[i] == ' ') continue;
    if (written < i) out += wrong + std::string(line.substr(written, i - written)) + reset;
    out += '\t';
    written = i + 1;
  }
  if (kept > written) out += color + std::string(line.substr(written, kept - written)) + reset;
  if (kept < line.size()) out += wrong + std::string(line.substr(kept)) + reset;
  return out;
}

RC_GTEST_PROP(ColorCodes, WhatAFileHoldsIsGivenBackExactlyOrRefused, ()) {
  const auto piece = rc::gen::element<std::string>("a", " ", "\t", "\r", "\x1b", "[", "m", "\x1b[m",
                                                   "\x1b[32m", "\x1b[41m", "\x1b[32m+\x1b[m", "+");
  std::string line;
  for (const std::string& part : *rc::gen::container<std::vector<std::string>>(piece)) line += part;
  const std::string document =
      "\x1b[1m--- a/f\x1b[m\n\x1b[1m+++ b/f\x1b[m\n\x1b[36m@@ -1 +1 @@\x1b[m\n"
      "\x1b[31m-" +
      line + "\x1b[m\n" + colored_by_git(line + "x") + "\n";
  const std::string plain = "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-" + line + "\n+" + line + "x\n";
  const auto out = without_color_codes(document);
  if (!out) RC_SUCCEED("refused");
  RC_ASSERT(out->has_value());
  RC_ASSERT(**out == plain);
}

RC_GTEST_PROP(ColorCodes, AnAddedLineIsGivenBackExactlyOrRefused, ()) {
  const auto piece = rc::gen::element<std::string>(
      "a", " ", "\t", "\r", "\x1b[m", "\x1b[32m", "\x1b[41m", "\x1b[41m \x1b[m", "\x1b[32ma\x1b[m");
  std::string line;
  for (const std::string& part : *rc::gen::container<std::vector<std::string>>(piece)) line += part;
  const std::string head = "\x1b[36m@@ -0,0 +1 @@\x1b[m\n";
  const auto out = without_color_codes(head + colored_by_git(line) + "\n");
  if (!out) RC_SUCCEED("refused");
  RC_ASSERT(**out == "@@ -0,0 +1 @@\n+" + line + "\n");
}

}  // namespace
}  // namespace galley
