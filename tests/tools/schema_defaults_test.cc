#include "tools/schema_defaults.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tools/schema.h"

namespace galley {
namespace {

using nlohmann::json;

/// The document as a tool gets it; as it is when nothing was left out.
json filled(const std::string& schema, const json& document) {
  EXPECT_TRUE(JsonSchema::compile(schema)) << schema;
  const auto defaults = SchemaDefaults::compile(schema);
  EXPECT_TRUE(defaults) << defaults.error().message;
  const auto result = defaults->fill(document);
  EXPECT_TRUE(result) << result.error().message;
  return result->value_or(document);
}

std::string default_refusal(const std::string& schema) {
  const auto defaults = SchemaDefaults::compile(schema);
  return defaults ? "" : defaults.error().reason;
}

TEST(SchemaDefaults, APropertyRequiredAsInDraftThreeMayHaveADefault) {
  const std::string schema = R"({"type":"object","properties":{
    "a":{"type":"integer","required":true,"default":1},
    "b":{"type":"object","default":{"c":"x"},
         "properties":{"c":{"type":"string","required":true}}}}})";
  EXPECT_EQ(filled(schema, json::object()), json::parse(R"({"a":1,"b":{"c":"x"}})"));
  EXPECT_EQ(
      default_refusal(R"({"properties":{"a":{"type":"integer","required":true,"default":"x"}}})"),
      "schema.default");
  EXPECT_EQ(default_refusal(R"({"properties":{"b":{"type":"object","default":{},
    "properties":{"c":{"required":true}}}}})"),
            "schema.default");
}

TEST(SchemaDefaults, DefaultsOfAllSevenTypesAreFilledIn) {
  const std::string schema = R"({"type":"object","properties":{
    "string":{"type":"string","default":"text"},
    "integer":{"type":"integer","default":10},
    "number":{"type":"number","default":0.5},
    "boolean":{"type":"boolean","default":true},
    "array":{"type":"array","items":{"type":"string"},"default":["a","b"]},
    "object":{"type":"object","default":{"key":"value"}},
    "null":{"type":"null","default":null}}})";
  const json whole = filled(schema, json::object());
  EXPECT_EQ(whole, json::parse(R"({"string":"text","integer":10,"number":0.5,"boolean":true,
    "array":["a","b"],"object":{"key":"value"},"null":null})"));
  const json given = json::parse(R"({"string":"","integer":0,"number":0,"boolean":false,
    "array":[],"object":{},"null":null})");
  EXPECT_EQ(filled(schema, given), given) << "what is given stays";
}

TEST(SchemaDefaults, DefaultsAreFilledInAtAnyDepth) {
  const std::string schema = R"({"type":"object",
    "$defs":{"edit":{"type":"object","properties":{"all":{"type":"boolean","default":false}}}},
    "properties":{
      "edits":{"type":"array","items":{"$ref":"#/$defs/edit"}},
      "options":{"type":"object","default":{},
        "properties":{"depth":{"type":"integer","default":3}}}},
    "allOf":[{"properties":{"mode":{"enum":["a","b"],"default":"a"}}}]})";
  EXPECT_EQ(filled(schema, json::parse(R"({"edits":[{},{"all":true}]})")),
            json::parse(R"({"edits":[{"all":false},{"all":true}],"options":{"depth":3},
                            "mode":"a"})"));
}

TEST(SchemaDefaults, DefaultsBelowAChoiceAreAnnotations) {
  const std::string schema = R"({"type":"object","anyOf":[
    {"properties":{"a":{"type":"integer","default":1}}},{"required":["b"]}]})";
  EXPECT_EQ(filled(schema, json::object()), json::object());
}

TEST(SchemaDefaults, ADefaultThatViolatesItsSchemaIsAnError) {
  EXPECT_EQ(default_refusal(R"({"properties":{"n":{"type":"integer","default":"x"}}})"),
            "schema.default");
  EXPECT_EQ(default_refusal(R"({"$defs":{"n":{"type":"integer","maximum":3}},
                          "properties":{"n":{"$ref":"#/$defs/n","default":4}}})"),
            "schema.default");
  EXPECT_EQ(default_refusal(R"({"properties":{"n":{"enum":["a"],"default":"a"}}})"), "");
}

TEST(SchemaDefaults, ASchemaThatExpandsTooFarIsAnError) {
  std::string definitions = R"("d0":{"properties":{"x":{"default":1}}})";
  for (int i = 1; i < 30; ++i) {
    const std::string one = R"({"$ref":"#/$defs/d)" + std::to_string(i - 1) + "\"}";
    definitions += ",\"d" + std::to_string(i) + "\":{\"allOf\":[" + one + "," + one + "]}";
  }
  EXPECT_EQ(default_refusal("{\"$defs\":{" + definitions + R"(},"$ref":"#/$defs/d29"})"),
            "schema.default");
}

// Limit: kMaxFilledDefaults of tools/schema_defaults.h
TEST(SchemaDefaults, NoDocumentIsFilledBeyondTheLimit) {
  const auto defaults = SchemaDefaults::compile(
      R"({"properties":{"list":{"items":{"properties":{"x":{"default":1}}}}}})");
  ASSERT_TRUE(defaults);
  json document;
  document["list"] = json::array();
  for (size_t i = 0; i < kMaxFilledDefaults; ++i) document["list"].push_back(json::object());
  EXPECT_TRUE(defaults->fill(document));
  document["list"].push_back(json::object());
  EXPECT_EQ(defaults->fill(document).error().reason, "limit.defaults");
}

}  // namespace
}  // namespace galley
