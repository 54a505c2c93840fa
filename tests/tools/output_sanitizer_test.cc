#include "tools/redactor.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tools/registry.h"
#include "tools/tool_factory.h"

namespace galley {
namespace {

using nlohmann::ordered_json;

TEST(OutputSanitizer, RemovesEscapesAndControlCharacters) {
  EXPECT_EQ(sanitized_text("a\x1b[31mred\x1b[0m b\tc\n"), "ared b\tc\n");
  EXPECT_EQ(sanitized_text("\x1b]0;title\x07shown"), "shown");
  EXPECT_EQ(sanitized_text("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\"), "link");
  EXPECT_EQ(sanitized_text("a\rb\x08\x7f"), "ab");
  EXPECT_EQ(sanitized_text("\xc2\x9b"
                           "31mred"),
            "31mred")
      << "a C1 control";
  EXPECT_EQ(sanitized_text("\xe2\x80\xae"
                           "abc\xe2\x81\xa9"),
            "abc");
  EXPECT_EQ(sanitized_text("\xff"
                           "a"),
            "\xef\xbf\xbd"
            "a");
  EXPECT_EQ(sanitized_text("caf\xc3\xa9 \xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x92\xbb"),
            "caf\xc3\xa9 \xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x92\xbb")
      << "what joins emoji stays";
  EXPECT_EQ(sanitized_text("\x1b"), "");
  EXPECT_EQ(sanitized_text("\x1b]never ends\nnext"), "\nnext");
}

// Limit: kMaxSanitizedTextBytes of tools/redactor.h
TEST(OutputSanitizer, RedactsSecretsAndShortensLongTexts) {
  EXPECT_EQ(sanitized_text("key AKIAIOSFODNN7EXAMPLE"), "key [REDACTED:aws-access-key]");
  EXPECT_EQ(sanitized_text("key AKIA\x1b[0mIOSFODNN7EXAMPLE"), "key [REDACTED:aws-access-key]")
      << "nothing hides a key from the patterns";
  const std::string cut = sanitized_text(std::string(kMaxSanitizedTextBytes + 10, 'x'));
  EXPECT_TRUE(cut.ends_with("\n[10 more bytes were left out]"));
  EXPECT_LT(cut.size(), kMaxSanitizedTextBytes + 100);
}

// Limit: kMaxSanitizedAnswerBytes of tools/redactor.h
TEST(OutputSanitizer, CleansEveryTextOfAnAnswer) {
  const ordered_json answer = {{"a\x1b[1m", {"x\x1b[0m", 1}}};
  const auto clean = sanitized_answer(answer, sanitized_text);
  ASSERT_TRUE(clean);
  EXPECT_EQ(clean->dump(), R"({"a":["x",1]})");
  ordered_json huge = ordered_json::array();
  for (int i = 0; i < 9; ++i) huge.push_back(std::string(kMaxSanitizedTextBytes, 'x'));
  EXPECT_EQ(sanitized_answer(huge, sanitized_text).error().reason, "limit.answer_bytes");
}

TEST(OutputSanitizer, IsRequiredForToolsOfServicesAndServers) {
  for (const auto category : {ToolInfo::Category::kApi, ToolInfo::Category::kMcp}) {
    ToolRegistry registry;
    ToolDefinition definition;
    definition.info.name = "Asks";
    definition.info.description = "asks others";
    definition.info.category = category;
    definition.info.input_schema = definition.info.output_schema = R"({"type": "object"})";
    definition.run = [](ToolRun&) { return Result<std::string>("{}"); };
    auto without = make_defined_tool(definition);
    ASSERT_TRUE(without);
    EXPECT_EQ(registry.add(*std::move(without)).error().reason, "tool.no_output_sanitizer");
    definition.sanitize = sanitized_text;
    auto with = make_defined_tool(definition);
    ASSERT_TRUE(with);
    EXPECT_TRUE(registry.add(*std::move(with)));
  }
}

}  // namespace
}  // namespace galley
