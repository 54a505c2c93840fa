// Those samples of fixtures/specs whose tool a program makes with define_tool: the Calculator of
// examples/calculator.h. tests/system/test_specs.py runs the others.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>
#include <vector>

#include "examples/calculator.h"
#include "support/temp_directory.h"
#include "tools/shapes.h"

namespace galley {
namespace {

using nlohmann::json;

/// The samples of Nachos's document that have this member.
std::vector<json> samples_with(const std::string& member) {
  std::ifstream file(GALLEY_SOURCE_DIR "/fixtures/specs/nachos.json");
  std::vector<json> found;
  const json document = json::parse(file);
  for (const json& sample : document.at("samples")) {
    if (sample.contains(member)) found.push_back(sample);
  }
  return found;
}

class SpecSamples : public ::testing::Test {
 protected:
  SpecSamples() {
    WorkspaceOptions options;
    options.tools.push_back(calculator());
    auto opened = Workspace::open(tree_.path(), options);
    EXPECT_TRUE(opened) << opened.error().message;
    workspace_ = *std::move(opened);
  }

  bool is_valid(const std::string& arguments) {
    const auto complaints = workspace_->check_call("calculator", arguments);
    EXPECT_TRUE(complaints) << complaints.error().message;
    return complaints && complaints->valid;
  }
  json answer(const std::string& arguments) {
    const auto shape = tool_shape_named("nachos");
    auto transaction = workspace_->begin({.agent = "ann"});
    EXPECT_TRUE(transaction);
    const auto called = transaction->call("calculator", arguments);
    return (*shape)->result(**shape, "calculator", "", called.result());
  }

  TempDirectory tree_;
  std::unique_ptr<Workspace> workspace_;
};

TEST_F(SpecSamples, TheDefinitionOfTheCalculatorEqualsItsDocument) {
  const auto shape = tool_shape_named("nachos");
  const json definition = (*shape)->definition(calculator().info);
  EXPECT_EQ(definition["toolId"], "calculator");
  EXPECT_EQ(definition["name"], "Calculator");
  EXPECT_EQ(definition["securityTier"], 0);
  EXPECT_EQ(definition["description"], "Perform arithmetic calculations");
  const json& parameters = definition["parameters"];
  EXPECT_EQ(parameters["type"], "object");
  EXPECT_EQ(parameters["required"], json::array({"expression"}));
  const json& expression = parameters["properties"]["expression"];
  EXPECT_EQ(expression["type"], "string");
  EXPECT_EQ(expression["description"], "Mathematical expression to evaluate");
  EXPECT_EQ(expression["examples"], json::array({"2 + 2", "10 * (5 + 3)"}));
  EXPECT_TRUE(workspace_->tool_health("calculator")->healthy);
}

TEST_F(SpecSamples, TheAnswersOfTheCalculatorEqualItsDocument) {
  const std::vector<json> samples = samples_with("own_tool");
  EXPECT_EQ(samples.size(), 1U) << "fixtures/specs/nachos.json";
  for (const json& sample : samples) {
    const std::string arguments = sample.at("args").dump();
    EXPECT_EQ(is_valid(arguments), sample.at("valid").get<bool>()) << arguments;
    const json given = answer(arguments);
    for (const auto& [key, value] : sample.at("answer").items()) {
      EXPECT_EQ(given.value(json::json_pointer(key), json()), value) << given.dump();
    }
    EXPECT_TRUE(given.at("metadata").at("duration").is_number_integer());
  }
  const json wrong = {{"expression", "evil()"}};
  const json refused = answer(wrong.dump());
  EXPECT_EQ(refused["error"]["code"], "VALIDATION_ERROR") << refused.dump();
  const json failed = answer(R"({"expression": "2 +"})");
  EXPECT_EQ(failed["error"]["code"], "EXECUTION_ERROR") << failed.dump();
  EXPECT_TRUE(failed.at("metadata").at("duration").is_number_integer());
}

/// The arguments of a call in TypeScript: `sessionId: 'test', …`.
std::string arguments_in(const std::string& text) {
  static const std::regex kMember(R"((\w+): '([^']*)')");
  json found;
  for (std::sregex_iterator at(text.begin(), text.end(), kMember), end; at != end; ++at) {
    found[(*at)[1].str()] = (*at)[2].str();
  }
  return found.dump();
}

TEST_F(SpecSamples, TheUnitTestsOfTheDocumentPassUnchanged) {
  const std::vector<json> samples = samples_with("unit_tests");
  ASSERT_EQ(samples.size(), 1U) << "fixtures/specs/nachos.json";
  const std::string code = samples[0].at("unit_tests");
  const std::regex statement(R"(const (\w+) = (?:await )?tool\.(validate|execute)\(\{([^}]*)\}\);)"
                             R"(|expect\((\w+)\.([\w.]+)\)\.toBe\((\w+)\);)");
  std::map<std::string, json> answers;
  int compared = 0;
  for (std::sregex_iterator at(code.begin(), code.end(), statement), end; at != end; ++at) {
    const std::smatch& part = *at;
    if (part[2] == "validate") {
      answers[part[1]] = {{"valid", is_valid(arguments_in(part[3]))}};
    } else if (part[2] == "execute") {
      answers[part[1]] = answer(arguments_in(part[3]));
    } else {
      std::string place = "/" + part[5].str();
      std::ranges::replace(place, '.', '/');
      const json& given = answers.at(part[4]);
      EXPECT_EQ(given.value(json::json_pointer(place), json()), json::parse(part[6].str()))
          << part[0] << " " << given.dump();
      ++compared;
    }
  }
  EXPECT_EQ(compared, 4);
}

}  // namespace
}  // namespace galley
