#include "tools/tool_factory.h"

#include <gtest/gtest.h>

#include <any>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "doubles/memory_directory.h"
#include "staging/fs/content_store.h"
#include "staging/overlay/overlay.h"
#include "tools/registry.h"

namespace galley {
namespace {

ToolInfo info_of(const std::string& name) {
  ToolInfo info;
  info.name = name;
  info.description = "Does what the test wants.";
  info.input_schema = info.output_schema = R"({"type":"object"})";
  return info;
}

/// A tool that returns the text that it was made with.
class EchoTool final : public Tool {
 public:
  EchoTool(std::string name, std::string text) : info_(info_of(name)), text_(std::move(text)) {}
  [[nodiscard]] const ToolInfo& info() const override { return info_; }
  Result<Intent> intent(const nlohmann::json&, const PathOrigin&) const override {
    return Intent();
  }
  ToolResult run(const nlohmann::json&, ToolContext&) const override {
    return ToolResult::success({{"text", text_}});
  }

 private:
  ToolInfo info_;
  std::string text_;
};

class ToolFactoryTest : public ::testing::Test {
 protected:
  ToolFactory echo_factory() {
    ToolFactory factory;
    factory.info = info_of("Echo");
    factory.needs = {"greeting"};
    factory.takes = {"suffix"};
    factory.make = [this](const ToolDependencies& given) -> Result<ToolInstance> {
      ++made_;
      seen_ = given;
      std::string text = std::any_cast<std::string>(given.at("greeting"));
      if (given.contains("suffix")) text += std::any_cast<std::string>(given.at("suffix"));
      return ToolInstance{std::make_unique<EchoTool>("Echo", text), {}, [this] { ++closed_; }};
    };
    return factory;
  }
  static ToolDependencies greeting() {
    return {{"greeting", std::string("hello")}, {"unrelated", 7}};
  }
  ToolResult run(const Tool& tool) {
    ToolContext context{overlay_, clock_, "", "", {}, false, false, {}, {}, nullptr, {}, {}, {}};
    return tool.run(nlohmann::json::object(), context);
  }

  SystemClock clock_;
  std::unique_ptr<WritableDirectory> workspace_ = make_memory_directory();
  Overlay overlay_{*workspace_, make_memory_store(), clock_};
  int made_ = 0;
  int closed_ = 0;
  ToolDependencies seen_;
};

TEST_F(ToolFactoryTest, AToolIsMadeAtItsFirstCallAndClosedWithItsRegistry) {
  {
    ToolRegistry registry;
    registry.set_dependencies(greeting());
    ASSERT_TRUE(registry.add(echo_factory()));
    EXPECT_EQ(registry.statuses().front().phase, ToolPhase::kRegistered);
    EXPECT_EQ(made_, 0);
    const auto entry = registry.get("Echo");
    ASSERT_TRUE(entry);
    EXPECT_EQ((*run(*(*entry)->tool).data)["text"], "hello");
    EXPECT_EQ((*run(*(*entry)->tool).data)["text"], "hello");
    EXPECT_EQ(registry.statuses().front().phase, ToolPhase::kReady);
  }
  EXPECT_EQ(made_, 1);
  EXPECT_EQ(closed_, 1);
}

TEST_F(ToolFactoryTest, GetsOnlyTheDependenciesThatItNames) {
  const FactoryTool tool(echo_factory(), std::make_shared<const ToolDependencies>(greeting()));
  ASSERT_TRUE(run(tool).ok);
  EXPECT_TRUE(seen_.contains("greeting"));
  EXPECT_FALSE(seen_.contains("unrelated"));
}

TEST_F(ToolFactoryTest, AMissingDependencyIsNamedAtTheCall) {
  const FactoryTool tool(echo_factory(), nullptr);
  const ToolResult result = run(tool);
  ASSERT_FALSE(result.ok);
  EXPECT_EQ(result.error->reason, "tool.dependency");
  EXPECT_NE(result.error->message.find("'greeting'"), std::string::npos);
  EXPECT_EQ(made_, 0);
}

TEST_F(ToolFactoryTest, AToolWithAnotherNameIsRefused) {
  ToolFactory factory;
  factory.info = info_of("Echo");
  factory.make = [](const ToolDependencies&) -> Result<ToolInstance> {
    return ToolInstance{std::make_unique<EchoTool>("Other", ""), {}, {}};
  };
  const FactoryTool tool(std::move(factory), nullptr);
  EXPECT_EQ(run(tool).error->reason, "tool.factory");
}

TEST_F(ToolFactoryTest, CallsOfARemovedToolAreRefused) {
  ToolRegistry registry;
  registry.set_dependencies(greeting());
  ASSERT_TRUE(registry.add(echo_factory()));
  const auto entry = *registry.get("Echo");
  ASSERT_TRUE(run(*entry->tool).ok);
  EXPECT_TRUE(registry.remove("Echo"));
  EXPECT_EQ(closed_, 1);
  EXPECT_EQ(run(*entry->tool).error->reason, "tool.draining");
}

}  // namespace
}  // namespace galley
