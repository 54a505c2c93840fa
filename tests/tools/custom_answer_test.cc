#include "tools/custom_tool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace galley {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Returns what is wrong with an answer.
std::string flaw(const std::string& text) {
  const auto answer = CustomAnswer::read(text);
  if (answer) return "taken";
  EXPECT_EQ(answer.error().reason, "tool.output");
  return answer.error().message;
}

TEST(CustomAnswers, DataAndErrorsAreRead) {
  const auto done = CustomAnswer::read(R"({"ok": true, "data": {"a": 1}, "warnings": ["old"]})");
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_TRUE(done->ok);
  EXPECT_EQ(done->data->dump(), R"({"a":1})");
  EXPECT_THAT(done->warnings, ElementsAre("old"));
  const auto no = CustomAnswer::read(
      R"({"ok": false, "error": {"code": "X", "message": "no", "details": [1],
          "retry_after_ms": 60000}})");
  ASSERT_TRUE(no) << no.error().message;
  EXPECT_FALSE(no->ok);
  EXPECT_EQ(no->code, "X");
  EXPECT_EQ(no->message, "no");
  EXPECT_EQ(no->details->dump(), "[1]");
  EXPECT_EQ(no->retry_after_ms, 60'000);
}

TEST(CustomAnswers, MalformedAnswersAreRefused) {
  EXPECT_THAT(flaw(""), HasSubstr("nothing"));
  EXPECT_THAT(flaw("hello"), HasSubstr("line 1"));
  EXPECT_THAT(flaw("[]"), HasSubstr("not a JSON object"));
  EXPECT_THAT(flaw("{}"), HasSubstr("'ok'"));
  EXPECT_THAT(flaw(R"({"ok": 1})"), HasSubstr("'ok'"));
  EXPECT_THAT(flaw(R"({"ok": true})"), HasSubstr("'data'"));
  EXPECT_THAT(flaw(R"({"ok": true, "data": []})"), HasSubstr("'data'"));
  EXPECT_THAT(flaw(R"({"ok": true, "data": {}, "error": {}})"), HasSubstr("'error'"));
  EXPECT_THAT(flaw(R"({"ok": true, "date": {}})"), HasSubstr("did you mean 'data'?"));
  EXPECT_THAT(flaw(R"({"ok": false})"), HasSubstr("no 'error'"));
  EXPECT_THAT(flaw(R"({"ok": false, "error": "no"})"), HasSubstr("not an object"));
  EXPECT_THAT(flaw(R"({"ok": false, "error": {"code": "X"}})"), HasSubstr("no 'message'"));
  EXPECT_THAT(flaw(R"({"ok": false, "error": {"message": "m", "retry_after": 1}})"),
              HasSubstr("did you mean 'retry_after_ms'?"));
  EXPECT_THAT(flaw(R"({"ok": false, "error": {"message": "m", "retry_after_ms": -1}})"),
              HasSubstr("milliseconds"));
  EXPECT_THAT(flaw(R"({"ok": true, "data": {}, "warnings": [1]})"), HasSubstr("'warnings'"));
  EXPECT_THAT(flaw(R"({"ok": true, "data": {}} {"ok": true, "data": {}})"), HasSubstr("line 1"));
  EXPECT_THAT(flaw(R"({"ok": true, "ok": false, "data": {}})"), HasSubstr("twice"));
  EXPECT_THAT(flaw(std::string("{\"ok\": true, \"data\": {\"a\": \"\xff\"}}")), HasSubstr("UTF-8"));
  EXPECT_NE(flaw(R"({"ok": true, "data": )" + std::string(100'000, '[')), "taken");
}

TEST(CustomAnswers, TheRetryTimeIsAtMostADay) {
  const auto no = CustomAnswer::read(
      R"({"ok": false, "error": {"message": "no", "retry_after_ms": 18446744073709551615}})");
  ASSERT_TRUE(no) << no.error().message;
  EXPECT_EQ(no->retry_after_ms, 86'400'000);
}

}  // namespace
}  // namespace galley
