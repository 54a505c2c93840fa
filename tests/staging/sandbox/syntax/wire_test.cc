#include "staging/sandbox/syntax/wire.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace galley {
namespace {

/// Serves `input`; returns what was written and whether all went well.
std::pair<std::string, bool> serve(std::string_view input) {
  std::string output;
  const SyntaxService service{
      [&input](char* to, size_t size) {
        const size_t count = std::min(size, input.size());
        std::copy_n(input.begin(), count, to);
        input.remove_prefix(count);
        return count;
      },
      [&output](std::string_view bytes) {
        output += bytes;
        return true;
      },
      [](SyntaxLanguage language, std::string_view text) {
        SyntaxAnswer answer;
        answer.errors.push_back({SyntaxError::Kind::kMissing, 0, static_cast<uint32_t>(text.size()),
                                 0, std::to_string(static_cast<int>(language))});
        return answer;
      }};
  const bool is_served = serve_syntax(service);
  return {output, is_served};
}

TEST(SyntaxWire, EachTextGetsItsAnswerInOrder) {
  std::string input;
  append_request(input, SyntaxLanguage::kC, "int x;");
  append_request(input, SyntaxLanguage::kPython, "");
  const auto [output, is_served] = serve(input);
  EXPECT_TRUE(is_served);
  std::string_view bytes = output;
  ASSERT_TRUE(bytes.starts_with(kSyntaxGreeting));
  bytes.remove_prefix(kSyntaxGreeting.size());
  const auto first = take_answer(bytes, 6);
  const auto second = take_answer(bytes, 0);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->errors[0].end, 6U);
  EXPECT_EQ(second->errors[0].expected, "3");
  EXPECT_TRUE(bytes.empty());
}

// Limit: kMaxSyntaxBytes of staging/sandbox/syntax/wire.h
TEST(SyntaxWire, ATextOverTheLimitIsNotRead) {
  std::string input(1, '\0');
  const uint32_t size = kMaxSyntaxBytes + 1;
  input.append(reinterpret_cast<const char*>(&size), sizeof size);
  input += "int x;";
  const auto [output, is_served] = serve(input);
  EXPECT_FALSE(is_served);
  EXPECT_EQ(output, kSyntaxGreeting);
}

TEST(SyntaxWire, AnUnknownLanguageAndATruncatedRequestAreRefused) {
  EXPECT_FALSE(serve(std::string("\x63\0\0\0\0", 5)).second);
  EXPECT_FALSE(serve(std::string("\0\5\0\0\0ab", 7)).second);
  EXPECT_FALSE(serve("\1").second);
  EXPECT_TRUE(serve("").second);
}

TEST(SyntaxWire, AnInvalidAnswerIsRefused) {
  std::string good;
  append_answer(good, {false, {{SyntaxError::Kind::kUnexpected, 2, 4, 1, "x"}}});
  for (size_t cut = 0; cut < good.size(); ++cut) {
    std::string_view bytes = std::string_view(good).substr(0, cut);
    EXPECT_FALSE(take_answer(bytes, 10)) << cut;
  }
  std::string_view whole = good;
  EXPECT_TRUE(take_answer(whole, 4));
  whole = good;
  EXPECT_FALSE(take_answer(whole, 3)) << "it ends behind the text";
}

// Limit: kMaxExpectedBytes of staging/sandbox/syntax/wire.h
// Limit: kMaxSyntaxErrors of staging/sandbox/syntax/wire.h
TEST(SyntaxWire, AnAnswerIsCutAtItsLimits) {
  SyntaxAnswer many;
  many.errors.resize(kMaxSyntaxErrors + 10);
  many.errors[0].expected = std::string(1'000, 'x');
  std::string out;
  append_answer(out, many);
  std::string_view bytes = out;
  const auto taken = take_answer(bytes, 0);
  ASSERT_TRUE(taken);
  EXPECT_EQ(taken->errors.size(), kMaxSyntaxErrors);
  EXPECT_EQ(taken->errors[0].expected.size(), kMaxExpectedBytes);
}

}  // namespace
}  // namespace galley
