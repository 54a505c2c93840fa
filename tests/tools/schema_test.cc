#include "tools/schema.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tools/json_input.h"
#include "tools/schema_lowering.h"

namespace galley {
namespace {

using nlohmann::json;

/// "valid", or the violations as text; "refused: <reason>" when the schema does not compile.
std::string verdict(std::string_view schema_text, std::string_view document_text) {
  const auto schema = JsonSchema::compile(schema_text);
  if (!schema) return "refused: " + schema.error().reason;
  const auto document = parse_json(document_text);
  if (!document) return "bad document: " + document.error().message;
  const auto violations = schema->check(*document);
  return violations.empty() ? "valid" : describe(violations);
}

std::string schema_refusal(std::string_view schema_text) {
  const auto schema = JsonSchema::compile(schema_text);
  return schema ? "compiles" : schema.error().reason + ": " + schema.error().message;
}

bool is_valid(std::string_view schema, std::string_view document) {
  const std::string said = verdict(schema, document);
  EXPECT_EQ(said.find("refused"), std::string::npos) << said;
  return said == "valid";
}

TEST(Schema, MessagesNameThePlaceAndTheExpectedValue) {
  const char* schema = R"({"type":"object","additionalProperties":false,"required":["file"],
    "properties":{"file":{"type":"string"},"mode":{"enum":["apply","check"]},
    "edits":{"type":"array","items":{"type":"object","properties":{"n":{"type":"integer"}}}}}})";
  EXPECT_EQ(verdict(schema, R"({"file":"a"})"), "valid");
  EXPECT_EQ(verdict(schema, R"({})"), "the property 'file' is missing");
  EXPECT_EQ(verdict(schema, R"({"file":7})"), "/file: is an integer; wanted string");
  EXPECT_EQ(verdict(schema, R"({"file":"a","fiel":1})"),
            "there is no property 'fiel'; did you mean 'file'?");
  EXPECT_EQ(verdict(schema, R"({"file":"a","mode":"aply"})"),
            R"(/mode: is "aply"; wanted one of ["apply","check"]; did you mean 'apply'?)");
  EXPECT_EQ(verdict(schema, R"({"file":"a","edits":[{"n":1},{"n":"x"}]})"),
            "/edits/1/n: is a string; wanted integer");
}

TEST(Schema, PointersAreEscaped) {
  EXPECT_EQ(verdict(R"({"properties":{"a/b~c":{"type":"string"}}})", R"({"a/b~c":1})"),
            "/a~1b~0c: is an integer; wanted string");
}

TEST(Schema, ChoicesOfRequiredPropertiesAreListed) {
  const char* schema = R"({"type":"object","anyOf":[{"required":["file","patch"]},
    {"required":["file_path","old_string","new_string"]}]})";
  EXPECT_EQ(verdict(schema, R"({"file":"a","patch":"p"})"), "valid");
  EXPECT_EQ(verdict(schema, R"({"file":"a"})"),
            "needs file and patch; or file_path, old_string and new_string");
}

TEST(Schema, PrefixItemsAndItemsAreCheckedAsIn2020) {
  const char* schema =
      R"({"prefixItems":[{"type":"string"},{"type":"integer"}],"items":{"type":"boolean"}})";
  EXPECT_TRUE(is_valid(schema, R"(["a",1,true,false])"));
  EXPECT_TRUE(is_valid(schema, R"(["a"])"));
  EXPECT_FALSE(is_valid(schema, R"([1,1])"));
  EXPECT_FALSE(is_valid(schema, R"(["a",1,"no"])"));
  EXPECT_FALSE(is_valid(R"({"prefixItems":[{}],"items":false})", "[1,2]"));
}

TEST(Schema, DraftSevenTuplesStillWork) {
  const char* schema = R"({"$schema":"http://json-schema.org/draft-07/schema#",
    "items":[{"type":"string"}],"additionalItems":{"type":"integer"}})";
  EXPECT_TRUE(is_valid(schema, R"(["a",1])"));
  EXPECT_FALSE(is_valid(schema, R"(["a","b"])"));
}

TEST(Schema, DependentKeywordsAreChecked) {
  const char* schema = R"({"dependentRequired":{"a":["b"]},
    "dependentSchemas":{"a":{"properties":{"c":{"type":"integer"}}}}})";
  EXPECT_TRUE(is_valid(schema, R"({"a":1,"b":2,"c":3})"));
  EXPECT_FALSE(is_valid(schema, R"({"a":1})"));
  EXPECT_FALSE(is_valid(schema, R"({"a":1,"b":2,"c":"x"})"));
  EXPECT_TRUE(is_valid(schema, R"({"c":"x"})"));
}

TEST(Schema, AnchorsAndDefsAreFollowed) {
  const char* schema = R"({"$defs":{"name":{"$anchor":"n","type":"string","minLength":2}},
    "properties":{"x":{"$ref":"#n"},"y":{"$ref":"#/$defs/name"}}})";
  EXPECT_TRUE(is_valid(schema, R"({"x":"ab","y":"cd"})"));
  EXPECT_FALSE(is_valid(schema, R"({"x":"a"})"));
  EXPECT_FALSE(is_valid(schema, R"({"y":7})"));
}

TEST(Schema, NeighboursOfARefAreChecked) {
  const char* schema = R"({"$defs":{"s":{"type":"string"}},
    "properties":{"x":{"$ref":"#/$defs/s","maxLength":2}}})";
  EXPECT_TRUE(is_valid(schema, R"({"x":"ab"})"));
  EXPECT_FALSE(is_valid(schema, R"({"x":"abc"})"));
}

TEST(Schema, RecursionThroughTheDocumentWorks) {
  const char* schema = R"({"type":"object","properties":{"next":{"$ref":"#"},
    "v":{"type":"integer"}},"additionalProperties":false})";
  EXPECT_TRUE(is_valid(schema, R"({"v":1,"next":{"v":2,"next":{}}})"));
  EXPECT_FALSE(is_valid(schema, R"({"next":{"next":{"v":"x"}}})"));
}

TEST(Schema, EndlessReferencesAreRefusedAtCompileTime) {
  EXPECT_EQ(schema_refusal(R"({"$ref":"#"})").substr(0, 16), "schema.reference");
  EXPECT_EQ(
      schema_refusal(R"({"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"allOf":[{"$ref":"#/$defs/a"}]}},
    "$ref":"#/$defs/a"})")
          .substr(0, 16),
      "schema.reference");
  EXPECT_EQ(
      schema_refusal(R"({"properties":{"x":{"anyOf":[{"type":"string"},{"$ref":"#/properties/x"}]}},
    "required":["x"]})")
          .substr(0, 16),
      "schema.reference");
}

TEST(Schema, RemoteAndMissingReferencesAreRefused) {
  EXPECT_EQ(schema_refusal(R"({"$ref":"https://example.com/s.json"})").substr(0, 16),
            "schema.reference");
  EXPECT_EQ(schema_refusal(R"({"$ref":"other.json#/a"})").substr(0, 16), "schema.reference");
  EXPECT_EQ(schema_refusal(R"({"properties":{"a":{"$ref":"#/nowhere"}}})").substr(0, 16),
            "schema.reference");
  EXPECT_EQ(schema_refusal(R"({"properties":{"a":{"$ref":"#gone"}}})").substr(0, 16),
            "schema.reference");
  EXPECT_EQ(schema_refusal(R"({"properties":{"a":{"$ref":7}}})").substr(0, 16), "schema.reference");
}

TEST(Schema, UnsupportedKeywordsAreRefused) {
  for (const char* schema :
       {R"({"allOf":[{}],"unevaluatedProperties":false})", R"({"$dynamicRef":"#x"})",
        R"({"properties":{"a":{"$id":"x"}}})", R"({"addtionalProperties":false})",
        R"({"$schema":"http://json-schema.org/draft-04/schema#"})", R"({"nullable":true})"}) {
    EXPECT_EQ(schema_refusal(schema).substr(0, 18), "schema.unsupported") << schema;
  }
  EXPECT_NE(schema_refusal(R"({"addtionalProperties":false})").find("additionalProperties"),
            std::string::npos);
}

TEST(Schema, UnevaluatedPropertiesWithoutNeighboursAreChecked) {
  const char* schema = R"({"properties":{"a":{}},"unevaluatedProperties":false})";
  EXPECT_TRUE(is_valid(schema, R"({"a":1})"));
  EXPECT_FALSE(is_valid(schema, R"({"b":1})"));
}

TEST(Schema, CountsOfContainsAreChecked) {
  const char* schema = R"({"contains":{"type":"integer"},"minContains":2,"maxContains":3})";
  EXPECT_FALSE(is_valid(schema, "[1]"));
  EXPECT_TRUE(is_valid(schema, R"([1,"x",2])"));
  EXPECT_FALSE(is_valid(schema, "[1,2,3,4]"));
  EXPECT_TRUE(is_valid(R"({"contains":{"type":"integer"},"minContains":0})", "[]"));
  EXPECT_FALSE(is_valid(R"({"contains":{"type":"integer"}})", R"(["x"])"));
}

TEST(Schema, PatternsRunInLinearTimeOnLongSubjects) {
  const char* schema = R"({"pattern":"^(a+)+$"})";
  EXPECT_TRUE(is_valid(schema, "\"" + std::string(50'000, 'a') + "\""));
  EXPECT_FALSE(is_valid(schema, "\"" + std::string(50'000, 'a') + "b\""));
}

TEST(Schema, PatternsThatNeedBacktrackingAreRefused) {
  EXPECT_EQ(schema_refusal(R"({"pattern":"(?=x)y"})").substr(0, 14), "schema.pattern");
  EXPECT_EQ(schema_refusal(R"({"patternProperties":{"(":{}}})").substr(0, 14), "schema.pattern");
}

TEST(Schema, PatternAndAdditionalPropertiesAreChecked) {
  const char* schema = R"({"properties":{"id":{"type":"integer"}},
    "patternProperties":{"^x-":{"type":"string"}},"additionalProperties":false})";
  EXPECT_TRUE(is_valid(schema, R"({"id":1,"x-a":"b"})"));
  EXPECT_EQ(verdict(schema, R"({"x-a":1})"), "/x-a: is an integer, which is not allowed here");
  EXPECT_FALSE(is_valid(schema, R"({"other":1})"));
  EXPECT_FALSE(is_valid(schema, R"({"id":"x"})"));
  const std::string long_name(50'000, 'a');
  EXPECT_FALSE(is_valid(schema, "{\"" + long_name + "\":1}"));
}

TEST(Schema, PatternPropertiesMayRecur) {
  const char* schema = R"({"patternProperties":{"^d":{"$ref":"#"},"^f":{"type":"integer"}},
    "additionalProperties":false})";
  EXPECT_TRUE(is_valid(schema, R"({"d1":{"d2":{"f":1}},"f":2})"));
  EXPECT_FALSE(is_valid(schema, R"({"d1":{"d2":{"f":"x"}}})"));
}

TEST(Schema, KnownFormatsAreCheckedAndOthersAreAnnotations) {
  EXPECT_FALSE(is_valid(R"({"format":"date-time"})", "\"" + std::string(50'000, '1') + "\""));
  EXPECT_EQ(verdict(R"({"properties":{"url":{"type":"string","format":"uri"}}})",
                    R"({"url":"not a uri"})"),
            "/url: does not have the format uri");
  EXPECT_TRUE(is_valid(R"({"format":"uri"})", "7")) << "a format speaks of texts only";
  EXPECT_TRUE(is_valid(R"({"format":"idn-hostname"})", R"("  ")"));
  EXPECT_EQ(schema_refusal(R"({"format":7})").substr(0, 13), "schema.syntax");
}

TEST(Schema, RequiredInsideAPropertyIsLiftedToItsParent) {
  const char* schema = R"({"type":"object","properties":{
    "input":{"type":"string","required":true},"note":{"type":"string","required":false},
    "deep":{"type":"object","properties":{"required":{"type":"boolean","required":true}}}}})";
  EXPECT_TRUE(is_valid(schema, R"({"input":"x"})"));
  EXPECT_EQ(verdict(schema, R"({"note":"x"})"), "the property 'input' is missing");
  EXPECT_EQ(verdict(schema, R"({"input":"x","deep":{}})"),
            "/deep: the property 'required' is missing");
  const auto lowered = lower_schema(json::parse(schema));
  ASSERT_TRUE(lowered);
  EXPECT_EQ((*lowered)["$comment"], "required inside a property, lifted: input");
  EXPECT_EQ((*lowered)["required"], json::array({"input"}));
}

TEST(Schema, RequiredAsABooleanElsewhereIsRefused) {
  for (const char* schema : {R"({"required":true})", R"({"items":{"required":true}})",
                             R"({"properties":{"a":{"required":true}},"required":"a"})",
                             R"({"anyOf":[{"required":true}]})"}) {
    EXPECT_EQ(schema_refusal(schema).substr(0, 13), "schema.syntax") << schema;
  }
}

TEST(Schema, ConditionsAreChecked) {
  const char* schema = R"({"type":"object","properties":{
    "action":{"type":"string","enum":["read","write","delete"]}},
    "if":{"properties":{"action":{"const":"write"}},"required":["action"]},
    "then":{"required":["content"]},"else":{"properties":{"content":false}}})";
  EXPECT_TRUE(is_valid(schema, R"({"action":"write","content":""})"));
  EXPECT_FALSE(is_valid(schema, R"({"action":"write"})"));
  EXPECT_TRUE(is_valid(schema, R"({"action":"read"})"));
  EXPECT_FALSE(is_valid(schema, R"({"action":"read","content":""})"));
  EXPECT_FALSE(is_valid(R"({"if":{"type":"string"},"then":{"minLength":2}})", R"("a")"));
  EXPECT_TRUE(is_valid(R"({"if":{"type":"string"},"else":{"minimum":2}})", "2"));
  EXPECT_FALSE(is_valid(R"({"if":{"type":"string"},"else":{"minimum":2}})", "1"));
  EXPECT_TRUE(is_valid(R"({"then":false})", "1")) << "without an if it says nothing";
}

// Limit: kMaxSchemaBytes of tools/schema.h
TEST(Schema, OversizedSchemasAreRefused) {
  const std::string schema = R"({"description":")" + std::string(kMaxSchemaBytes, 'a') + "\"}";
  EXPECT_EQ(schema_refusal(schema).substr(0, 19), "limit.schema_bytes:");
}

// Limit: kMaxSchemaPlaces of tools/schema_lowering.h
TEST(Schema, ASchemaWithTooManyPlacesIsRefused) {
  const auto schema_of = [](size_t properties) {
    nlohmann::json members;
    for (size_t i = 0; i < properties; ++i) members["p" + std::to_string(i)] = {{"type", "string"}};
    return nlohmann::json({{"properties", members}}).dump();
  };
  EXPECT_TRUE(JsonSchema::compile(schema_of(kMaxSchemaPlaces - 1)));
  EXPECT_EQ(schema_refusal(schema_of(kMaxSchemaPlaces)).substr(0, 20), "limit.schema_places:");
}

TEST(Schema, UniqueItemsOfALongArrayAreChecked) {
  std::string array = "[";
  for (int i = 0; i < 20'000; ++i) array += std::to_string(i) + ",";
  EXPECT_TRUE(is_valid(R"({"uniqueItems":true})", array + "{}]"));
  EXPECT_FALSE(is_valid(R"({"uniqueItems":true})", array + "7]"));
  EXPECT_TRUE(is_valid(R"({"uniqueItems":true})", R"([1,"1",[1],["1"],{"a":1},true,null,false])"));
}

TEST(Schema, WholeNumbersAreIntegersAndBooleansAreNot) {
  EXPECT_TRUE(is_valid(R"({"type":"integer"})", "1.0"));
  EXPECT_FALSE(is_valid(R"({"type":"integer"})", "1.5"));
  EXPECT_FALSE(is_valid(R"({"type":"integer"})", "true"));
  EXPECT_TRUE(is_valid(R"({"type":"number"})", "1"));
}

TEST(Schema, BooleanSchemasWork) {
  EXPECT_TRUE(is_valid("true", "1"));
  EXPECT_FALSE(is_valid("false", "1"));
  EXPECT_FALSE(is_valid(R"({"properties":{"a":false}})", R"({"a":1})"));
}

TEST(Schema, MalformedSchemasAreErrors) {
  for (const char* schema :
       {"{", "7", R"({"type":"strnig"})", R"({"type":7})", R"({"required":"x"})",
        R"({"properties":[]})", R"({"items":7})", R"({"anyOf":{}})", R"({"anyOf":[]})",
        R"({"enum":7})", R"({"pattern":7})", R"({"minLength":"x"})", R"({"multipleOf":"x"})",
        R"({"patternProperties":7})", R"({"dependentSchemas":[]})",
        R"({"minContains":-1,"contains":{}})"}) {
    EXPECT_EQ(schema_refusal(schema).substr(0, 13), "schema.syntax")
        << schema << schema_refusal(schema);
  }
}

}  // namespace
}  // namespace galley
