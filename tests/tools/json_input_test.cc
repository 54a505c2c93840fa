#include "tools/json_input.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace galley {
namespace {

std::string reason_of(std::string_view text, const JsonLimits& limits = {}) {
  const auto document = parse_json(text, limits);
  return document ? "accepted: " + document->dump() : document.error().reason;
}

TEST(JsonInput, ParsesAnOrdinaryDocument) {
  const auto document = parse_json(R"({"a":[1,-2,3.5,"x",null,true],"b":{"c":{}}})");
  ASSERT_TRUE(document);
  EXPECT_EQ(document->dump(), R"({"a":[1,-2,3.5,"x",null,true],"b":{"c":{}}})");
}

TEST(JsonInput, RefusesADuplicateKeyAtAnyDepth) {
  EXPECT_EQ(reason_of(R"({"a":1,"a":2})"), "json.duplicate_key");
  EXPECT_EQ(reason_of(R"([{"x":{"k":1,"k":1}}])"), "json.duplicate_key");
  EXPECT_EQ(reason_of(R"({"a":1,"\u0061":2})"), "json.duplicate_key");
  EXPECT_EQ(reason_of(R"([{"a":1},{"a":2}])"), R"(accepted: [{"a":1},{"a":2}])");
}

TEST(JsonInput, RefusesIntegersBeyond64Bits) {
  EXPECT_EQ(reason_of("18446744073709551615"), "accepted: 18446744073709551615");
  EXPECT_EQ(reason_of("18446744073709551616"), "json.number");
  EXPECT_EQ(reason_of("-9223372036854775808"), "accepted: -9223372036854775808");
  EXPECT_EQ(reason_of("-9223372036854775809"), "json.number");
  EXPECT_EQ(reason_of("[1e999]"), "json.number");
}

TEST(JsonInput, AWholeNumberWrittenAsAFractionIsAnInteger) {
  const auto document = parse_json("[1.0, 2e3, 1.5, 1e300]");
  ASSERT_TRUE(document);
  EXPECT_TRUE((*document)[0].is_number_integer());
  EXPECT_EQ((*document)[1], 2000);
  EXPECT_TRUE((*document)[2].is_number_float());
  EXPECT_TRUE((*document)[3].is_number_float());
}

TEST(JsonInput, DepthIsCappedWithoutRecursion) {
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  EXPECT_EQ(reason_of(deep), "json.depth");
  const std::string allowed = std::string(128, '[') + std::string(128, ']');
  EXPECT_TRUE(parse_json(allowed));
  EXPECT_EQ(reason_of("[" + allowed + "]"), "json.depth");
}

TEST(JsonInput, BytesAreCapped) {
  JsonLimits limits;
  limits.max_bytes = 4;
  EXPECT_EQ(reason_of("[12]", limits), "accepted: [12]");
  EXPECT_EQ(reason_of("[123]", limits), "limit.json_bytes");
}

TEST(JsonInput, NamesLineAndColumnOfASyntaxError) {
  const auto document = parse_json("{\n  \"a\": 1,\n  oops\n}");
  ASSERT_FALSE(document);
  EXPECT_EQ(document.error().reason, "json.syntax");
  EXPECT_NE(document.error().message.find("line 3, column 3"), std::string::npos)
      << document.error().message;
}

TEST(JsonInput, RefusesWhatIsNotOneUtf8Document) {
  for (const std::string text : {"", " ", "{} {}", "{\"a\":\"\xff\"}", "\"\\ud800\"", "nul", "[1,]",
                                 "{'a':1}", "NaN", "[1] x", "\"\x01\"", "// c\n1"}) {
    EXPECT_EQ(reason_of(text), "json.syntax") << text;
  }
  EXPECT_EQ(reason_of(std::string("[1]\0", 4)), "json.syntax");
}

TEST(JsonInput, TextOfBytesThatAreNotUtf8NeverThrows) {
  nlohmann::json document;
  document["path"] = "a\xff";
  EXPECT_EQ(json_text(document), "{\"path\":\"a\xef\xbf\xbd\"}");
}

}  // namespace
}  // namespace galley
