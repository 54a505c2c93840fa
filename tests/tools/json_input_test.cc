#include "tools/json_input.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

namespace galley {
namespace {

std::string parse_outcome(std::string_view text, const JsonLimits& limits = {}) {
  const auto document = parse_json(text, limits);
  return document ? "accepted: " + document->dump() : document.error().reason;
}

TEST(JsonInput, ParsesAnOrdinaryDocument) {
  const auto document = parse_json(R"({"a":[1,-2,3.5,"x",null,true],"b":{"c":{}}})");
  ASSERT_TRUE(document);
  EXPECT_EQ(document->dump(), R"({"a":[1,-2,3.5,"x",null,true],"b":{"c":{}}})");
}

TEST(JsonInput, MembersOfAnObjectWithRoomStayWhereTheyAre) {
  nlohmann::ordered_json object = object_with_room(3);
  EXPECT_EQ(object, nlohmann::ordered_json::object());
  const nlohmann::ordered_json& first = object["a"] = "a text";
  object["b"] = 1;
  object["c"] = 2;
  EXPECT_EQ(&first, &object["a"]);
}

TEST(JsonInput, RefusesADuplicateKeyAtAnyDepth) {
  EXPECT_EQ(parse_outcome(R"({"a":1,"a":2})"), "json.duplicate_key");
  EXPECT_EQ(parse_outcome(R"([{"x":{"k":1,"k":1}}])"), "json.duplicate_key");
  EXPECT_EQ(parse_outcome(R"({"a":1,"\u0061":2})"), "json.duplicate_key");
  EXPECT_EQ(parse_outcome(R"([{"a":1},{"a":2}])"), R"(accepted: [{"a":1},{"a":2}])");
}

TEST(JsonInput, RefusesIntegersBeyond64Bits) {
  EXPECT_EQ(parse_outcome("18446744073709551615"), "accepted: 18446744073709551615");
  EXPECT_EQ(parse_outcome("18446744073709551616"), "json.number");
  EXPECT_EQ(parse_outcome("-9223372036854775808"), "accepted: -9223372036854775808");
  EXPECT_EQ(parse_outcome("-9223372036854775809"), "json.number");
  EXPECT_EQ(parse_outcome("[1e999]"), "json.number");
}

TEST(JsonInput, AWholeNumberWrittenAsAFractionIsAnInteger) {
  const auto document = parse_json("[1.0, 2e3, 1.5, 1e300]");
  ASSERT_TRUE(document);
  EXPECT_TRUE((*document)[0].is_number_integer());
  EXPECT_EQ((*document)[1], 2000);
  EXPECT_TRUE((*document)[2].is_number_float());
  EXPECT_TRUE((*document)[3].is_number_float());
}

// Limit: kMaxJsonDepth of base/limits.h
TEST(JsonInput, DepthIsLimitedWithoutRecursion) {
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  EXPECT_EQ(parse_outcome(deep), "json.depth");
  const std::string allowed = std::string(128, '[') + std::string(128, ']');
  EXPECT_TRUE(parse_json(allowed));
  EXPECT_EQ(parse_outcome("[" + allowed + "]"), "json.depth");
}

// Limit: kMaxJsonBytes of base/limits.h
TEST(JsonInput, BytesAreLimited) {
  JsonLimits limits;
  limits.max_bytes = 4;
  EXPECT_EQ(parse_outcome("[12]", limits), "accepted: [12]");
  EXPECT_EQ(parse_outcome("[123]", limits), "limit.json_bytes");
}

// Limit: kMaxJsonValues of tools/json_input.h
TEST(JsonInput, ValuesAreLimited) {
  JsonLimits limits;
  limits.max_values = 3;
  EXPECT_EQ(parse_outcome("[1,2]", limits), "accepted: [1,2]");
  EXPECT_EQ(parse_outcome("[[],[],[]]", limits), "limit.json_values");
  EXPECT_EQ(parse_outcome("[1,2,3]", limits), "limit.json_values");
  EXPECT_EQ(parse_outcome(R"({"a":1})", limits), R"(accepted: {"a":1})");
  EXPECT_EQ(parse_outcome(R"({"a":1,"b":2})", limits), "limit.json_values");
}

TEST(JsonInput, NamesLineAndColumnOfASyntaxError) {
  const auto document = parse_json("{\n  \"a\": 1,\n  oops\n}");
  ASSERT_FALSE(document);
  EXPECT_EQ(document.error().reason, "json.syntax");
  EXPECT_NE(document.error().message.find("line 3, column 3"), std::string::npos)
      << document.error().message;
}

TEST(JsonInput, NamesABracketTooMany) {
  for (const auto& [text, column] : std::vector<std::pair<std::string, int>>{
           {R"({"a":{"b":1}}})", 14}, {R"([{"a":1}}])", 9}, {"[1]]", 4}}) {
    const auto document = parse_json(text);
    ASSERT_FALSE(document) << text;
    EXPECT_NE(document.error().message.find("column " + std::to_string(column) + ": '"),
              std::string::npos)
        << document.error().message;
    EXPECT_NE(document.error().message.find("closes nothing; leave it out"), std::string::npos)
        << document.error().message;
  }
  EXPECT_EQ(parse_json("[1]}}").error().message.find("closes nothing"), std::string::npos);
}

TEST(JsonInput, RefusesTextThatIsNotOneUtf8Document) {
  for (const std::string text : {"", " ", "{} {}", "{\"a\":\"\xff\"}", "\"\\ud800\"", "nul", "[1,]",
                                 "{'a':1}", "NaN", "[1] x", "\"\x01\"", "// c\n1"}) {
    EXPECT_EQ(parse_outcome(text), "json.syntax") << text;
  }
  EXPECT_EQ(parse_outcome(std::string("[1]\0", 4)), "json.syntax");
}

TEST(JsonInput, BytesThatAreNotUtf8AreReplacedInTheText) {
  nlohmann::json document;
  document["path"] = "a\xff";
  EXPECT_EQ(json_text(document), "{\"path\":\"a\xef\xbf\xbd\"}");
}

/// A value of any type, its texts put together from what is written in different ways.
nlohmann::json any_value(std::mt19937& random, int depth) {
  static const std::vector<std::string> kPieces = {"a",
                                                   "plain words, longer than eight bytes",
                                                   "\"",
                                                   "\\",
                                                   "/",
                                                   "\n",
                                                   "\x01",
                                                   "\x1f",
                                                   "\x7f",
                                                   "\xc3\xa9",
                                                   "\xf0\x9f\x90\xa7",
                                                   "\xff",
                                                   "\xe2\x82",
                                                   "\xe2\x80\xa8",
                                                   std::string(1, '\0')};
  const auto text = [&] {
    std::string made;
    for (size_t pieces = random() % 12; pieces > 0; --pieces) {
      made += kPieces[random() % kPieces.size()];
    }
    return made;
  };
  switch (random() % (depth > 0 ? 9 : 7)) {
    case 0:
      return nullptr;
    case 1:
      return random() % 2 == 0;
    case 2:
      return -static_cast<int64_t>(random());
    case 3:
      return static_cast<uint64_t>(random()) << 32U;
    case 4:
      return static_cast<double>(random()) / 3;
    case 5:
      return std::vector<double>{std::nan(""), 1e300, 0.0};
    case 6:
      return text();
    case 7: {
      nlohmann::json list = nlohmann::json::array();
      for (size_t items = random() % 5; items > 0; --items) {
        list.push_back(any_value(random, depth - 1));
      }
      return list;
    }
    default: {
      nlohmann::json object = nlohmann::json::object();
      for (size_t items = random() % 5; items > 0; --items) {
        object[text()] = any_value(random, depth - 1);
      }
      return object;
    }
  }
}

TEST(JsonInput, TextEqualsThatOfTheLibrary) {
  std::mt19937 random(1);  // NOLINT(cert-msc32-c,cert-msc51-cpp)
  for (int round = 0; round < 3000; ++round) {
    const nlohmann::json document = any_value(random, 4);
    const auto replace = nlohmann::json::error_handler_t::replace;
    EXPECT_EQ(json_text(document), document.dump(-1, ' ', false, replace));
    const nlohmann::ordered_json ordered = document;
    EXPECT_EQ(json_text(ordered), document.dump(-1, ' ', false, replace));
  }
}

/// The library's answer to a text in which no number is written as a fraction and no key twice.
std::string answer_of_library(const std::string& text) {
  const auto document = nlohmann::json::parse(text, nullptr, false);
  return document.is_discarded() ? "json.syntax" : "accepted: " + json_text(document);
}

std::string answer_here(const std::string& text) {
  const auto document = parse_json(text);
  return document ? "accepted: " + json_text(*document) : document.error().reason;
}

TEST(JsonInput, ReadsTextsAsTheLibrary) {
  const std::vector<std::string> pieces = {"a",
                                           "words that are longer than eight bytes",
                                           "\\n",
                                           "\\\"",
                                           "\\\\",
                                           "\\/",
                                           "\\b\\f\\r\\t",
                                           "\\u0041",
                                           "\\ud83d\\ude00",
                                           "\\ud83d",
                                           "\\x",
                                           "\n",
                                           "\x1f",
                                           "\x7f",
                                           "\xc3\xa9",
                                           "\xc3",
                                           "\xe2\x80\xa8",
                                           "\xff",
                                           "\"",
                                           "\\"};
  std::mt19937 random(7);
  int accepted = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string text = "{\"k";
    for (size_t count = random() % 6; count > 0; --count) text += pieces[random() % pieces.size()];
    text += "\" : [ \"";
    for (size_t count = random() % 6; count > 0; --count) text += pieces[random() % pieces.size()];
    text += "\"]}";
    EXPECT_EQ(answer_here(text), answer_of_library(text)) << text;
    accepted += answer_here(text) != "json.syntax" ? 1 : 0;
  }
  EXPECT_GT(accepted, 1'000);
}

TEST(JsonInput, ReadsDocumentsAsTheLibrary) {
  const std::vector<std::string> pieces = {"{",
                                           "}",
                                           "[",
                                           "]",
                                           ",",
                                           ":",
                                           "\"a\"",
                                           "\"b\"",
                                           "\"\"",
                                           "0",
                                           "-0",
                                           "7",
                                           "-",
                                           "01",
                                           "1.5",
                                           "2e1",
                                           "true",
                                           "fals",
                                           "null",
                                           " ",
                                           "\t\r\n",
                                           "123456789012345678",
                                           "1234567890123456789",
                                           "\xef\xbb\xbf",
                                           "x",
                                           "1"};
  std::mt19937 random(11);
  int accepted = 0;
  for (int round = 0; round < 50'000; ++round) {
    std::string text = random() % 2 == 0 ? "[" : "";
    for (size_t count = 1 + random() % 7; count > 0; --count) {
      text += pieces[random() % pieces.size()];
      if (text.starts_with("[") && random() % 2 == 0) text += ",";
    }
    if (text.starts_with("[")) text += random() % 2 == 0 ? "]" : "null]";
    const std::string here = answer_here(text);
    const bool is_stricter = here == "json.duplicate_key" || here == "json.number";
    if (is_stricter || text.find("2e1") != std::string::npos) continue;
    EXPECT_EQ(here, answer_of_library(text)) << text;
    accepted += here != "json.syntax" ? 1 : 0;
  }
  EXPECT_GT(accepted, 1'000);
}

}  // namespace
}  // namespace galley
