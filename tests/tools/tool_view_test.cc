#include "tools/tool_view.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace galley {
namespace {

class TitledTool final : public Tool {
 public:
  TitledTool(std::string name, std::string title, bool is_read_only) {
    info_.name = std::move(name);
    info_.title = std::move(title);
    info_.description = "Does what the test wants.";
    info_.input_schema = info_.output_schema = R"({"type":"object"})";
    info_.annotations.read_only = is_read_only;
  }
  [[nodiscard]] const ToolInfo& info() const override { return info_; }
  Result<Intent> intent(const nlohmann::json&, const PathOrigin&) const override {
    return Intent();
  }
  ToolResult run(const nlohmann::json&, ToolContext&) const override {
    return ToolResult::success(nlohmann::ordered_json::object());
  }

 private:
  ToolInfo info_;
};

class ToolViewTest : public ::testing::Test {
 protected:
  Result<void> add(const std::string& name, const std::string& title,
                   ToolPrecedence precedence = {}, bool is_read_only = false) {
    return registry_.add(std::make_unique<TitledTool>(name, title, is_read_only),
                         std::move(precedence));
  }
  /// The titles of what `agent` finds, or the reason why nothing.
  std::string found(const std::string& agent, const std::string& name,
                    std::vector<std::string> capabilities = {}) {
    const auto has = [given = std::move(capabilities)](std::string_view needed) {
      return std::find(given.begin(), given.end(), needed) != given.end();
    };
    const auto all = ToolView(registry_, {agent, "", has}).find(name);
    if (!all) return all.error().reason;
    std::string titles;
    for (const auto& entry : *all)
      titles += (titles.empty() ? "" : " ") + entry->tool->info().title;
    return titles;
  }
  static ToolPrecedence precedence(int priority, std::vector<std::string> agents = {},
                                   std::vector<std::string> capabilities = {}) {
    return {priority, {std::move(agents), std::move(capabilities), {}}, false};
  }

  ToolRegistry registry_;
};

TEST_F(ToolViewTest, TheHighestPriorityIsCalledAndTheOthersAreFallbacks) {
  ASSERT_TRUE(add("Run", "middle", precedence(5)));
  ASSERT_TRUE(add("Run", "low", precedence(-1)));
  ASSERT_TRUE(add("Run", "high", precedence(9)));
  EXPECT_EQ(found("a", "Run"), "high middle low");
  EXPECT_EQ(registry_.list().size(), 1U) << "a list has each name once";
  EXPECT_EQ(registry_.list().front().title, "high");
  EXPECT_EQ(registry_.statuses().size(), 3U);
}

TEST_F(ToolViewTest, TwoToolsWithTheSameNameAndPriorityAreRefused) {
  ASSERT_TRUE(add("Run", "one"));
  const auto again = add("Run", "two");
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().reason, "tool.exists");
  EXPECT_NE(again.error().message.find("another priority"), std::string::npos);
}

TEST_F(ToolViewTest, AnAgentsOwnToolComesFirstAndIsHiddenFromOtherAgents) {
  ASSERT_TRUE(add("Run", "global", precedence(9)));
  ASSERT_TRUE(add("Run", "own", precedence(0, {"code"})));
  ASSERT_TRUE(add("Run", "other", precedence(0, {"docs"}))) << "for another agent";
  EXPECT_FALSE(add("Run", "third", precedence(0, {"code", "x"})));
  EXPECT_FALSE(add("Run", "pattern", precedence(0, {"c*"}))) << "it may match the same agent";
  EXPECT_EQ(found("code", "Run"), "own global");
  EXPECT_EQ(found("docs", "Run"), "other global");
  EXPECT_EQ(found("", "Run"), "global");
}

TEST_F(ToolViewTest, AvailabilityDependsOnAgentCapabilityAndPredicate) {
  ASSERT_TRUE(add("update_spec", "t", precedence(0, {"default"})));
  ASSERT_TRUE(add("find_agent", "t", precedence(0, {}, {"custom:orchestrate"})));
  bool has_tests = false;
  ToolPrecedence rule;
  rule.availability.holds = [&](const ToolCaller& caller) {
    return has_tests && caller.agent != "docs";
  };
  ASSERT_TRUE(add("run_tests", "t", rule));
  EXPECT_EQ(found("default", "update_spec"), "t");
  EXPECT_EQ(found("code", "update_spec"), "tool.not_available");
  EXPECT_EQ(found("code", "find_agent"), "tool.not_available");
  EXPECT_EQ(found("code", "find_agent", {"custom:orchestrate"}), "t");
  EXPECT_EQ(found("code", "find_agent", {"custom:other"}), "tool.not_available");
  EXPECT_EQ(found("code", "run_tests"), "tool.not_available");
  has_tests = true;
  EXPECT_EQ(found("code", "run_tests"), "t");
  EXPECT_EQ(found("docs", "run_tests"), "tool.not_available");
  const auto has_none = [](std::string_view) { return false; };
  EXPECT_EQ(ToolView(registry_, {"code", "", has_none}).list().size(), 1U);
}

TEST_F(ToolViewTest, ADisabledToolIsRefusedUntilItIsEnabled) {
  ASSERT_TRUE(add("Run", "t"));
  const ToolView view(registry_, {});
  registry_.set_enabled("Run", false);
  EXPECT_EQ(found("a", "Run"), "tool.disabled");
  EXPECT_TRUE(view.list().empty());
  EXPECT_TRUE(registry_.list().empty());
  EXPECT_FALSE(registry_.statuses().front().is_enabled);
  registry_.set_enabled("Run", true);
  EXPECT_EQ(view.list().size(), 1U) << "a view is no copy";
}

TEST_F(ToolViewTest, AReadOnlyViewHasOnlyReadingTools) {
  ASSERT_TRUE(add("Read", "r", {}, true));
  ASSERT_TRUE(add("Write", "w"));
  const ToolView view(registry_, {}, ToolRegistry::Mode::kReadOnly);
  ASSERT_EQ(view.list().size(), 1U);
  EXPECT_EQ(view.list().front().name, "Read");
  EXPECT_TRUE(view.find("Read"));
  EXPECT_EQ(view.find("Write").error().reason, "tool.not_read_only");
}

TEST_F(ToolViewTest, AnUnknownToolIsAnErrorWithTheNearestVisibleName) {
  ASSERT_TRUE(add("Reed", "t", precedence(0, {"docs"})));
  ASSERT_TRUE(add("Read", "t"));
  const auto unknown = ToolView(registry_, {"code", "", {}}).find("Read1");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().reason, "tool.unknown");
  EXPECT_NE(unknown.error().message.find("did you mean 'Read'?"), std::string::npos);
}

}  // namespace
}  // namespace galley
