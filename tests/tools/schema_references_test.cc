#include "tools/schema_references.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tools/schema.h"

namespace galley {
namespace {

using nlohmann::json;

std::string verdict_on(const json& schema) {
  const auto compiled = JsonSchema::compile(schema.dump());
  return compiled ? "compiles" : compiled.error().message;
}

/// A chain of definitions, each with `times` references to the next.
json chain_of(int length, int times) {
  json schema = {{"$ref", "#/$defs/d0"}};
  for (int i = 0; i < length; ++i) {
    json all = json::array();
    for (int n = 0; n < times; ++n) all.push_back({{"$ref", "#/$defs/d" + std::to_string(i + 1)}});
    schema["$defs"]["d" + std::to_string(i)] = {{"allOf", all}};
  }
  schema["$defs"]["d" + std::to_string(length)] = {{"type", "string"}};
  return schema;
}

// Limit: kMaxSchemaExpansion of tools/schema_references.h
TEST(SchemaReferences, MultiplyingReferencesAreRefused) {
  EXPECT_EQ(verdict_on(chain_of(5, 2)), "compiles");
  EXPECT_EQ(verdict_on(chain_of(40, 2)),
            "the references of the schema multiply to more than 10000 schemas for one value");
  EXPECT_EQ(verdict_on(chain_of(100, 100)),
            "the references of the schema multiply to more than 10000 schemas for one value");
}

// Limit: kMaxSchemaReferences of tools/schema_references.h
TEST(SchemaReferences, TheNumberOfReferencesIsLimited) {
  EXPECT_EQ(verdict_on(chain_of(200, 1)), "compiles");
  EXPECT_EQ(verdict_on(chain_of(50'000, 1)), "the schema refers to more than 1000 places");
}

}  // namespace
}  // namespace galley
