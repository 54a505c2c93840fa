#include "tools/plain_schema.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "tools/schema.h"
#include "tools/schema_lowering.h"

namespace galley {
namespace {

using nlohmann::json;

const std::vector<json>& subschemas() {
  static const std::vector<json> kSchemas = {
      json::object(),
      {{"type", "string"}},
      {{"type", "integer"}, {"minimum", 1}},
      {{"type", "number"}},
      {{"type", "boolean"}},
      {{"type", "null"}},
      {{"type", {"string", "null"}}},
      {{"minimum", -3}},
      {{"minimum", 2.5}},
      {{"minLength", 1}},
      {{"minLength", 3}},
      {{"maxLength", 1}},
      {{"enum", {"a", ""}}},
      {{"enum", {1, "a"}}},
      {{"const", "a"}},
      {{"type", "array"}, {"items", {{"type", "string"}}}},
      {{"items", {{"minimum", 0}}}},
      {{"type", "object"}},
      {{"required", {"a"}}},
      {{"properties", {{"a", {{"type", "string"}}}}}, {"additionalProperties", false}},
      {{"properties", {{"b", {{"enum", {"a"}}}}}}, {"additionalProperties", {{"type", "integer"}}}},
      {{"additionalProperties", true}, {"required", {"a", "b"}}},
      {{"anyOf", {{{"required", {"a"}}}, {{"type", "string"}}}}},
      {{"not", {{"type", "string"}}}},
      false,
      {{"pattern", "^a"}}};
  return kSchemas;
}

const std::vector<json>& documents() {
  static const std::vector<json> kDocuments = {nullptr,
                                               true,
                                               0,
                                               1,
                                               -4,
                                               3U,
                                               UINT64_MAX,
                                               INT64_MIN,
                                               0.5,
                                               -0.5,
                                               "",
                                               "a",
                                               std::string("\0a", 2),
                                               "\xc3\xa9",
                                               "abc",
                                               json::array(),
                                               {"a", "b"},
                                               {1, -1},
                                               json::object(),
                                               {{"a", "x"}},
                                               {{"a", 1}},
                                               {{"b", "a"}},
                                               {{"a", "a"}, {"b", 2}},
                                               {{"c", nullptr}}};
  return kDocuments;
}

/// Only the library checks a schema with `allOf`.
JsonSchema library_schema(const json& schema) {
  auto compiled = JsonSchema::compile(json{{"allOf", json::array({schema})}}.dump());
  EXPECT_TRUE(compiled) << compiled.error().message;
  return *std::move(compiled);
}

TEST(PlainSchema, AcceptsOnlyWhatTheLibraryAccepts) {
  size_t accepted = 0;
  const auto compare = [&](const json& schema) {
    const auto compiled = JsonSchema::compile(schema.dump());
    ASSERT_TRUE(compiled) << compiled.error().message;
    const JsonSchema library = library_schema(schema);
    for (const json& document : documents()) {
      const bool is_valid = library.check(document).empty();
      EXPECT_EQ(compiled->check(document).empty(), is_valid) << schema << " " << document;
      const nlohmann::ordered_json ordered(document);
      EXPECT_EQ(compiled->check(ordered).empty(), is_valid) << schema << " " << document;
      accepted += is_valid ? 1 : 0;
    }
  };
  for (const json& schema : subschemas()) {
    compare(schema);
    compare({{"items", schema}});
    compare({{"additionalProperties", schema}});
    for (const json& other : subschemas()) {
      compare({{"properties", {{"a", schema}, {"b", other}}}});
      compare({{"anyOf", {schema, other}}});
    }
  }
  EXPECT_GT(accepted, 1'000U);
}

/// Many tools answer with a text or null.
TEST(PlainSchema, AcceptsAnyOfSeveralTypes) {
  const PlainSchema schema(json{{"type", {"string", "null"}}});
  EXPECT_TRUE(schema.is_complete());
  EXPECT_TRUE(schema.accepts(json("a")));
  EXPECT_TRUE(schema.accepts(json(nullptr)));
  EXPECT_FALSE(schema.accepts(json(1)));
}

TEST(PlainSchema, MessagesAreThoseOfTheLibrary) {
  for (const json& schema : subschemas()) {
    if (!schema.is_object()) continue;
    const auto compiled = JsonSchema::compile(schema.dump());
    const JsonSchema library = library_schema(schema);
    for (const json& document : documents()) {
      EXPECT_EQ(describe(compiled->check(document)), describe(library.check(document)))
          << schema << " " << document;
    }
  }
}

/// Such a schema is compiled by the library only when a document must be explained, so it must be
/// free of errors.
TEST(PlainSchema, IsCompleteOnlyWithoutUnknownKeywordsAtAnyDepth) {
  const json plain = {{"type", "object"},
                      {"properties", {{"a", {{"items", {{"minimum", 0}}}}}}},
                      {"additionalProperties", {{"anyOf", {{{"enum", {"x"}}}}}}}};
  EXPECT_TRUE(PlainSchema(*lower_schema(plain)).is_complete()) << "it adds empty definitions";
  for (const json& part : {json{{"pattern", "("}}, json{{"type", "text"}}, json{{"minLength", 2}},
                           json{{"type", json::array()}}, json{{"type", {"null", "text"}}},
                           json{{"anyOf", json::array()}}, json{{"properties", 1}}, json(3)}) {
    EXPECT_FALSE(PlainSchema(part).is_complete()) << part;
    EXPECT_FALSE(PlainSchema(json{{"items", part}}).is_complete()) << part;
    EXPECT_FALSE(PlainSchema(json{{"additionalProperties", part}}).is_complete()) << part;
    EXPECT_FALSE(PlainSchema(json{{"anyOf", json::array({plain, part})}}).is_complete()) << part;
    EXPECT_FALSE(PlainSchema(json{{"properties", {{"a", {{"items", part}}}}}}).is_complete())
        << part;
  }
  EXPECT_FALSE(PlainSchema(json{{"definitions", {{"a", {{"pattern", "("}}}}}}).is_complete());
}

}  // namespace
}  // namespace galley
