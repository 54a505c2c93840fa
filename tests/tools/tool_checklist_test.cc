#include "tools/tool_checklist.h"

#include <galley/define_tool.h>

#include "tools/tool_factory.h"
#include "tools/tool_fixture.h"

namespace galley {
namespace {

using nlohmann::json;

constexpr const char* kPage =
    "# Adds\n## Purpose\nx\n## 2. When Used\nx\n**Parameters**: n\n## Returns\n- Configuration: "
    "none\n### Limitations\n### Performance\n";

struct Number {
  int64_t value = 0;
  static void describe(auto& field) { field("value", &Number::value); }
};

class ToolChecklist : public ToolFixture {
 protected:
  void add(const std::function<Result<Number>(const Number&)>& function,
           std::vector<std::string> examples = {R"({"value":1})"}) {
    ToolDefinition definition = define_tool<Number, Number>("Adds", "adds one", function);
    definition.info.examples = std::move(examples);
    ASSERT_TRUE(registry_.add(*make_defined_tool(std::move(definition))));
  }
  /// Returns the answer of the executor without a transaction.
  ToolTrial trial(const std::string& arguments, bool is_wrong) {
    const auto entry = registry_.get("Adds");
    const json args = json::parse(arguments);
    if (const auto wrong = (*entry)->input.check(args); !wrong.empty()) {
      return {arguments, is_wrong,
              ToolResult::failure(
                  {ToolErrorCode::kValidation, "args.schema", describe(wrong), nullptr})};
    }
    return {arguments, is_wrong, call("Adds", args)};
  }
  /// The names of the points that are not met.
  std::string missed(std::string_view page = kPage) {
    const auto entry = registry_.get("Adds");
    std::vector<ToolTrial> trials;
    for (const auto& example : (*entry)->tool->info().examples) {
      trials.push_back(trial(example, false));
    }
    for (const auto& args : wrong_arguments((*entry)->tool->info())) {
      trials.push_back(trial(args, true));
    }
    const auto points = check_tool(**entry, trials, page);
    EXPECT_EQ(points.size(), 12U);
    std::string out;
    for (const ToolCheckPoint& point : points) {
      if (point.outcome == ToolCheckPoint::Outcome::kNotMet) out += point.name + ";";
      if (point.outcome == ToolCheckPoint::Outcome::kNotChecked) {
        EXPECT_TRUE(point.message.starts_with("not checked here: ")) << point.message;
      }
    }
    return out;
  }
};

TEST_F(ToolChecklist, AGoodToolMeetsEveryCheckedPoint) {
  add([](const Number& number) { return Number{number.value + 1}; });
  EXPECT_EQ(missed(), "");
}

TEST_F(ToolChecklist, EachDefectMissesItsPoint) {
  add([](const Number&) -> Result<Number> { throw std::runtime_error("x"); });
  EXPECT_EQ(missed(), "returns a valid result;");
  registry_.clear();
  add([](const Number& number) { return number; }, {});
  EXPECT_EQ(missed(), "returns a valid result;");
  registry_.clear();
  add([](const Number& number) { return number; });
  EXPECT_EQ(missed("# Adds\n## Purpose\n"), "has documentation;");
  registry_.clear();
  ToolDefinition open =
      define_tool<Number, Number>("Adds", "adds one", [](const Number& number) { return number; });
  open.info.input_schema = R"({"type":"object"})";
  open.info.examples = {R"({"value":1})"};
  ASSERT_TRUE(registry_.add(*make_defined_tool(std::move(open))));
  EXPECT_EQ(missed(), "sanitizes all inputs;handles errors gracefully;");
}

TEST_F(ToolChecklist, EveryHeadingIsChecked) {
  for (const ToolCheckPoint& point : check_tool_documentation(kPage)) {
    EXPECT_EQ(point.outcome, ToolCheckPoint::Outcome::kMet) << point.name;
  }
  EXPECT_TRUE(has_tool_heading("## Purpose\n"));
  EXPECT_FALSE(has_tool_heading("Purpose is a word.\n"));
  const auto points = check_tool_documentation("Purpose is a word of a sentence here.\n");
  ASSERT_EQ(points.size(), 7U);
  for (const ToolCheckPoint& point : points) {
    EXPECT_EQ(point.outcome, ToolCheckPoint::Outcome::kNotMet) << point.name;
  }
}

TEST_F(ToolChecklist, TheDocumentIsNotOkIfAPointIsMissed) {
  const ToolCheckPoint met{"a", ToolCheckPoint::Outcome::kMet, "m"};
  const ToolCheckPoint missed_one{"b", ToolCheckPoint::Outcome::kNotMet, "m"};
  const ToolCheckPoint unchecked{"c", ToolCheckPoint::Outcome::kNotChecked, "m"};
  EXPECT_EQ(checklist_json("X", {met, unchecked}, {met})["ok"], true);
  EXPECT_EQ(checklist_json("X", {met, missed_one}, {met})["ok"], false);
  EXPECT_EQ(checklist_json("X", {met}, {missed_one})["ok"], false);
}

}  // namespace
}  // namespace galley
