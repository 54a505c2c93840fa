// Checks tools/catalogue/*.json, which no compiler does: its words mean something.
#include "tools/catalogue.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "tools/json_input.h"
#include "tools/profiles.h"
#include "tools/schema.h"
#include "tools/standard_tools.h"

namespace galley {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

/// Every text that is an argument in a value of a row.
void add_arguments(const json& value, std::set<std::string>& out) {
  if (value.is_string() && value.get<std::string>().starts_with('$')) {
    out.insert(value.get<std::string>().substr(1));
  }
  if (!value.is_structured()) return;
  for (const json& one : value) add_arguments(one, out);
}

TEST(Catalogue, EveryRowIsUniqueAndComplete) {
  std::set<std::string> names;
  for (const CatalogueRow& row : catalogue()) {
    EXPECT_TRUE(names.insert(row.info.name).second) << row.info.name;
    EXPECT_FALSE(row.info.title.empty()) << row.info.name;
    EXPECT_FALSE(row.info.examples.empty()) << row.info.name;
    EXPECT_FALSE(row.verb.empty() && !row.profiles.empty()) << row.info.name;
    EXPECT_TRUE(row.is_standard || !row.profiles.empty()) << row.info.name << " is shown nowhere";
    for (const std::string& profile : row.profiles) {
      EXPECT_TRUE(profile_named(profile)) << row.info.name << ": " << profile;
    }
  }
}

// Each member of a step is looked up in every call, given or not.
TEST(Catalogue, ExamplesUseKnownVerbsAndMembers) {
  for (const CatalogueRow& row : catalogue()) {
    const auto schema = JsonSchema::compile(row.info.input_schema);
    ASSERT_TRUE(schema) << row.info.name;
    for (const std::string& example : row.info.examples) {
      const json args = *parse_json(example);
      EXPECT_TRUE(schema->check(args).empty()) << row.info.name << ": " << example;
      if (row.steps == nullptr) continue;
      const auto operations = operations_of(*row.steps, args, {"/w"});
      ASSERT_TRUE(operations) << row.info.name << ": " << operations.error().message;
      EXPECT_EQ(operations->size(), row.steps->size()) << row.info.name;
    }
  }
}

TEST(Catalogue, EveryArgumentOfAStepIsInTheSchema) {
  for (const CatalogueRow& row : catalogue()) {
    if (row.steps == nullptr) continue;
    std::set<std::string> arguments;
    add_arguments(*row.steps, arguments);
    const json schema = json::parse(row.info.input_schema);
    for (const std::string& argument : arguments) {
      EXPECT_TRUE(schema["properties"].contains(argument)) << row.info.name << ": " << argument;
    }
  }
}

TEST(Catalogue, EveryNamedCallIsUsedByARow) {
  std::set<std::string_view> used;
  for (const CatalogueRow& row : catalogue()) {
    if (row.with != nullptr) used.insert(row.with->name);
  }
  for (const NamedCall& call : named_calls()) EXPECT_EQ(used.count(call.name), 1U) << call.name;
  EXPECT_EQ(used.size(), named_calls().size()) << "two of one name";
}

TEST(Catalogue, ValuesOfAllFourFormsAreEvaluated) {
  const json steps = json::parse(R"([{"search":{"under":["$a","$b"],"pattern":"literal",
      "ignore_case":{"not":"$c"},"show_numbers":{"not":"$absent"},"lines_after":"$d"}}])");
  const json args = {{"b", "src"}, {"c", false}, {"d", 7000}};
  const auto operations = operations_of(steps, args, {});
  ASSERT_TRUE(operations);
  const auto& search = std::get<SearchText>(operations->front());
  EXPECT_EQ(search.under.str(), "src");
  EXPECT_EQ(search.pattern, "literal");
  EXPECT_TRUE(search.ignore_case);
  EXPECT_TRUE(search.show_numbers) << "as the verb has it";
  EXPECT_EQ(search.lines_after, 1000U);
}

TEST(Catalogue, AnAnswerLeavesOutMissingMembers) {
  const std::vector<JsonDocument> results = {
      std::make_shared<const ordered_json>(ordered_json{{"content", "x"}}),
      std::make_shared<const ordered_json>(ordered_json{{"size", nullptr}})};
  const auto form = ordered_json::parse(
      R"({"text":"$0.content","size":"$1.size","encoding":"$0.encoding","ok":true,"all":"$1"})");
  EXPECT_EQ(answer_of(form, results).dump(),
            R"({"text":"x","size":null,"ok":true,"all":{"size":null}})");
}

TEST(Catalogue, AnUnknownWordStopsTheProgram) {
  EXPECT_DEATH((void)operations_of(json::parse(R"([{"read":{"pth":"$path"}}])"), {}, {}), "pth");
  EXPECT_DEATH((void)operations_of(json::parse(R"([{"burn":{}}])"), {}, {}), "burn");
}

}  // namespace
}  // namespace galley
