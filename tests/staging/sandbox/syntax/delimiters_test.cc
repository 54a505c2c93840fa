#include "staging/sandbox/syntax/source_text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace galley {
namespace {

using Kind = SyntaxError::Kind;

/// Every bracket of the text, and its lines that begin with # as choices.
std::vector<SyntaxError> errors_of(std::string_view text) {
  std::vector<DelimiterToken> tokens;
  for (uint32_t i = 0; i < text.size(); ++i) {
    const size_t opener = std::string_view("([{").find(text[i]);
    const size_t closer = std::string_view(")]}").find(text[i]);
    if (opener != std::string_view::npos) {
      tokens.push_back({DelimiterToken::Kind::kOpen, "([{"[opener], i});
    } else if (closer != std::string_view::npos) {
      tokens.push_back({DelimiterToken::Kind::kClose, "([{"[closer], i});
    }
  }
  return delimiter_errors(text, tokens);
}

uint32_t line_of(std::string_view text, uint32_t offset) {
  return static_cast<uint32_t>(std::count(text.begin(), text.begin() + offset, '\n') + 1);
}

TEST(Delimiters, MatchingBracketsAreNotErrorsWithAnyIndentation) {
  EXPECT_TRUE(errors_of("f(a[1], {\n  b }\n    )").empty());
  EXPECT_TRUE(errors_of("").empty());
}

TEST(Delimiters, AnUnclosedParenthesisIsNamed) {
  const auto errors = errors_of("f {\n  g(1;\n}\n");
  ASSERT_FALSE(errors.empty());
  EXPECT_EQ(errors[0].kind, Kind::kUnclosed);
  EXPECT_EQ(errors[0].offset, 7U);
}

TEST(Delimiters, ACloserWithoutAPartnerIsNamed) {
  const auto errors = errors_of("f a);\n");
  ASSERT_FALSE(errors.empty());
  EXPECT_EQ(errors[0].kind, Kind::kUnopened);
  EXPECT_EQ(errors[0].offset, 3U);
}

TEST(Delimiters, IndentationShowsWhereAMissingBraceBelongs) {
  const std::string text = "f {\n  if (a) {\n    b;\n\n  c;\n}\ng {\n}\n";
  bool is_hinted = false;
  for (const SyntaxError& error : errors_of(text)) {
    if (error.kind != Kind::kOutdented) continue;
    is_hinted = true;
    EXPECT_EQ(line_of(text, error.cause), 2U);
    EXPECT_EQ(line_of(text, error.offset), 6U);
  }
  EXPECT_TRUE(is_hinted);
}

TEST(Delimiters, IndentationShowsWhichLineLostItsBrace) {
  const std::string text = "f {\n  if (a)\n    b;\n  }\n  c;\n}\n";
  const auto errors = errors_of(text);
  const auto hint = std::find_if(errors.begin(), errors.end(), [](const SyntaxError& error) {
    return error.kind == Kind::kIndented;
  });
  ASSERT_NE(hint, errors.end());
  EXPECT_EQ(line_of(text, hint->offset), 2U);
}

TEST(Delimiters, OfAConditionalTheLastBranchCounts) {
  const std::string text = "if (a) { if (b) { }";
  const auto at = [&](char kind, uint32_t offset) {
    return DelimiterToken{kind == '?'   ? DelimiterToken::Kind::kIf
                          : kind == ':' ? DelimiterToken::Kind::kElse
                          : kind == '.' ? DelimiterToken::Kind::kEndIf
                          : kind == '{' ? DelimiterToken::Kind::kOpen
                                        : DelimiterToken::Kind::kClose,
                          '{', offset};
  };
  EXPECT_TRUE(delimiter_errors(
                  text, {at('?', 0), at('{', 7), at(':', 8), at('{', 16), at('.', 17), at('}', 18)})
                  .empty());
}

TEST(Delimiters, TheErrorsOfAMillionUnmatchedBracketsAreReported) {
  std::string text(1'000'000, '[');
  text += std::string(1'000'000, ')');
  EXPECT_GE(errors_of(text).size(), kMaxSyntaxErrors);
}

}  // namespace
}  // namespace galley
