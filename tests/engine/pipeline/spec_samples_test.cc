// Those sample calls of fixtures/specs whose tool a program makes with define_tool: the Calculator
// of examples/calculator.h. tests/system/test_specs.py runs the others.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "examples/calculator.h"
#include "support/temp_directory.h"
#include "tools/shapes.h"

namespace galley {
namespace {

using nlohmann::json;

std::vector<json> calculator_samples() {
  std::ifstream file(GALLEY_SOURCE_DIR "/fixtures/specs/nachos.json");
  std::vector<json> found;
  const json document = json::parse(file);
  for (const json& sample : document.at("samples")) {
    if (sample.contains("own_tool")) found.push_back(sample);
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

  TempDirectory tree_;
  std::unique_ptr<Workspace> workspace_;
};

TEST_F(SpecSamples, TheDefinitionOfTheCalculatorEqualsItsDocument) {
  const auto shape = tool_shape_named("nachos");
  const json definition = (*shape)->definition(calculator().info);
  EXPECT_EQ(definition["toolId"], "calculator");
  EXPECT_EQ(definition["description"], "Perform arithmetic calculations");
  const json& parameters = definition["parameters"];
  EXPECT_EQ(parameters["type"], "object");
  EXPECT_EQ(parameters["required"], json::array({"expression"}));
  EXPECT_EQ(parameters["properties"]["expression"]["examples"],
            json::array({"2 + 2", "10 * (5 + 3)"}));
}

TEST_F(SpecSamples, TheAnswersOfTheCalculatorEqualItsDocument) {
  const auto shape = tool_shape_named("nachos");
  const std::vector<json> samples = calculator_samples();
  EXPECT_EQ(samples.size(), 4U) << "fixtures/specs/nachos.json";
  for (const json& sample : samples) {
    const std::string tool = sample.at("tool");
    const std::string arguments = sample.at("args").dump();
    const auto complaints = workspace_->check_call(tool, arguments);
    ASSERT_TRUE(complaints) << complaints.error().message;
    EXPECT_EQ(complaints->empty(), sample.at("valid").get<bool>()) << arguments;

    auto transaction = workspace_->begin({.agent = "ann"});
    ASSERT_TRUE(transaction);
    const auto called = transaction->call(tool, arguments);
    const json answer = (*shape)->result(**shape, tool, "", called.result());
    for (const auto& [key, value] : sample.at("answer").items()) {
      EXPECT_EQ(answer.value(json::json_pointer(key), json()), value) << answer.dump();
    }
    EXPECT_TRUE(answer.at("metadata").at("duration").is_number_integer());
  }
}

}  // namespace
}  // namespace galley
