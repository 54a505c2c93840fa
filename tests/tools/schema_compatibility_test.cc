#include "tools/schema_compatibility.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace galley {
namespace {

using nlohmann::json;

enum class Effect { kNone, kFine, kBreaks };

Effect effect_of(const std::string& before, const std::string& after, SchemaSide side) {
  const auto differences = schema_differences(json::parse(before), json::parse(after), side);
  if (differences.empty()) return Effect::kNone;
  const bool breaks = std::any_of(differences.begin(), differences.end(),
                                  [](const auto& one) { return one.is_breaking; });
  return breaks ? Effect::kBreaks : Effect::kFine;
}

/// A change, and what it means to those who write such documents and those who read them.
struct Row {
  const char* before;
  const char* after;
  Effect input;
  Effect output;
};

TEST(SchemaCompatibility, EachChangeIsClassifiedForInputAndOutput) {
  constexpr Effect kFine = Effect::kFine;
  constexpr Effect kBreaks = Effect::kBreaks;
  const std::vector<Row> table = {
      {R"({"properties":{"a":{}}})", R"({"properties":{}})", kBreaks, kBreaks},
      {R"({"properties":{}})", R"({"properties":{"a":{}}})", kFine, kFine},
      {R"({"properties":{"a":{}}})", R"({"properties":{"a":{}},"required":["a"]})", kBreaks, kFine},
      {R"({"properties":{"a":{}},"required":["a"]})", R"({"properties":{"a":{}}})", kFine, kBreaks},
      {R"({"type":["string","null"]})", R"({"type":"string"})", kBreaks, kFine},
      {R"({"type":"string"})", R"({"type":["string","null"]})", kFine, kBreaks},
      {R"({"type":"integer"})", R"({"type":"number"})", kFine, kBreaks},
      {R"({"type":"string"})", R"({"type":"integer"})", kBreaks, kBreaks},
      {R"({})", R"({"type":"string"})", kBreaks, kFine},
      {R"({"enum":["a","b"]})", R"({"enum":["a"]})", kBreaks, kFine},
      {R"({"enum":["a"]})", R"({"enum":["a","b"]})", kFine, kBreaks},
      {R"({"const":1})", R"({"const":2})", kBreaks, kBreaks},
      {R"({"minimum":1})", R"({"minimum":2})", kBreaks, kFine},
      {R"({"minimum":2})", R"({"minimum":1})", kFine, kBreaks},
      {R"({"maxLength":9})", R"({"maxLength":8})", kBreaks, kFine},
      {R"({})", R"({"maxItems":8})", kBreaks, kFine},
      {R"({"maxItems":8})", R"({})", kFine, kBreaks},
      {R"({"additionalProperties":true})", R"({"additionalProperties":false})", kBreaks, kFine},
      {R"({"additionalProperties":false})", R"({})", kFine, kFine},
      {R"({"items":{"type":"string"}})", R"({"items":{"type":"integer"}})", kBreaks, kBreaks},
      {R"({"pattern":"a"})", R"({"pattern":"b"})", kBreaks, kBreaks},
      {R"({"anyOf":[{"required":["a"]}]})", R"({"anyOf":[{"required":["b"]}]})", kBreaks, kBreaks},
      {R"({"default":1})", R"({"default":2})", kBreaks, kFine},
      {R"({})", R"({"default":2})", kFine, kFine},
      {R"({"description":"x"})", R"({"description":"y","title":"z"})", kFine, kFine},
      {R"({"properties":{"a":{"properties":{"b":{}}}}})",
       R"({"properties":{"a":{"properties":{}}}})", kBreaks, kBreaks},
  };
  for (const Row& row : table) {
    EXPECT_EQ(effect_of(row.before, row.after, SchemaSide::kInput), row.input)
        << row.before << " -> " << row.after;
    EXPECT_EQ(effect_of(row.before, row.after, SchemaSide::kOutput), row.output)
        << row.before << " -> " << row.after;
    EXPECT_EQ(effect_of(row.before, row.before, SchemaSide::kInput), Effect::kNone);
  }
}

TEST(SchemaCompatibility, ADifferenceNamesItsPlace) {
  const auto differences = schema_differences(
      json::parse(R"({"properties":{"a":{"items":{"type":"string"}}}})"),
      json::parse(R"({"properties":{"a":{"items":{"type":"null"}}}})"), SchemaSide::kInput);
  ASSERT_EQ(differences.size(), 1U);
  EXPECT_EQ(differences[0].pointer, "/properties/a/items/type");
}

TEST(SchemaCompatibility, SchemaChangesNeedAHigherVersion) {
  const json old_input = json::parse(R"({"properties":{"a":{}}})");
  const json wider = json::parse(R"({"properties":{"a":{},"b":{}}})");
  const json other = json::parse(R"({"properties":{"b":{}}})");
  const json output = json::object();
  const auto breaches = [&](const char* before, const json& input, const char* after) {
    return contract_breaches({before, old_input, output}, {after, input, output});
  };
  EXPECT_TRUE(breaches("1.0.0", old_input, "1.0.0").empty());
  EXPECT_EQ(breaches("1.0.0", wider, "1.0.0").size(), 1U) << "changed, and the version is the same";
  EXPECT_TRUE(breaches("1.0.0", wider, "1.1.0").empty());
  EXPECT_EQ(breaches("1.0.0", other, "1.1.0").size(), 1U) << "'a' is gone within a major version";
  EXPECT_TRUE(breaches("1.0.0", other, "2.0.0").empty());
  EXPECT_EQ(breaches("0.1.0", other, "0.1.1").size(), 1U) << "below 1.0.0 a minor version counts";
  EXPECT_TRUE(breaches("0.1.0", other, "0.2.0").empty());
  EXPECT_TRUE(breaches("9.0.0", other, "10.0.0").empty());
}

}  // namespace
}  // namespace galley
