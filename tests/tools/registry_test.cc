#include "tools/registry.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace galley {
namespace {

class NamedTool final : public Tool {
 public:
  explicit NamedTool(std::string name, bool read_only = false,
                     std::string input = R"({"type":"object"})") {
    info_.name = std::move(name);
    info_.description = "Does nothing.";
    info_.input_schema = std::move(input);
    info_.output_schema = R"({"type":"object"})";
    info_.annotations.read_only = read_only;
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

TEST(ToolRegistry, KeepsTheOrderOfRegistration) {
  ToolRegistry registry;
  for (const char* name : {"Write", "Read", "Apply"}) {
    ASSERT_TRUE(registry.add(std::make_unique<NamedTool>(name)));
  }
  std::vector<std::string> names;
  for (const ToolInfo& info : registry.list()) names.push_back(info.name);
  EXPECT_EQ(names, (std::vector<std::string>{"Write", "Read", "Apply"}));
  EXPECT_EQ(registry.schemas().at("tools").at(1).at("name"), "Read");
}

TEST(ToolRegistry, AnUnknownToolIsAnErrorWithTheNearestName) {
  ToolRegistry registry;
  ASSERT_TRUE(registry.add(std::make_unique<NamedTool>("apply_patch")));
  const auto tool = registry.get("aply_patch");
  ASSERT_FALSE(tool);
  EXPECT_EQ(tool.error().reason, "tool.unknown");
  EXPECT_NE(tool.error().message.find("did you mean 'apply_patch'?"), std::string::npos);
}

TEST(ToolRegistry, TheSameNameTwiceIsRefused) {
  ToolRegistry registry;
  ASSERT_TRUE(registry.add(std::make_unique<NamedTool>("Read")));
  const auto again = registry.add(std::make_unique<NamedTool>("Read"));
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().reason, "tool.exists");
}

TEST(ToolRegistry, ABadNameIsRefused) {
  ToolRegistry registry;
  for (const std::string& name :
       {std::string(), std::string("a b"), std::string("x\n"), std::string(65, 'a')}) {
    const auto added = registry.add(std::make_unique<NamedTool>(name));
    ASSERT_FALSE(added);
    EXPECT_EQ(added.error().reason, "tool.name");
  }
}

TEST(ToolRegistry, AnUnsupportedSchemaIsRefusedAtRegistration) {
  ToolRegistry registry;
  const auto added = registry.add(
      std::make_unique<NamedTool>("X", false, R"({"allOf":[{}],"unevaluatedProperties":false})"));
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error().reason, "tool.schema");
  EXPECT_FALSE(registry.has("X"));
}

TEST(ToolRegistry, HostileSchemasAreRefusedAtRegistration) {
  std::string deep;
  for (int i = 0; i < 200; ++i) deep += R"({"properties":{"a":)";
  const std::vector<std::string> schemas = {
      std::string(200'000, '[') + std::string(200'000, ']'),          // depth
      deep,                                                           // the same, cut
      R"({"description":")" + std::string(100'000'000, 'x') + "\"}",  // 100 MB
      R"({"type":"object","type":"string"})",                         // a key twice
      R"({"description":"\ud800"})",                                  // a lone surrogate
      std::string("{\"type\":\"object\"}\0{}", 20),                   // NUL
      std::string("{\"description\":\"\xff\"}"),                      // no UTF-8
      R"({"nullable":true})",
      R"({"$ref":"https://example.com/s"})",
      "",
      "null",
      "[]"};
  for (const std::string& schema : schemas) {
    ToolRegistry registry;
    const auto added = registry.add(std::make_unique<NamedTool>("X", false, schema));
    ASSERT_FALSE(added) << schema.substr(0, 60);
    EXPECT_EQ(added.error().reason, "tool.schema");
    EXPECT_LT(added.error().message.size(), 500U);
    EXPECT_FALSE(registry.has("X"));
  }
}

TEST(ToolRegistry, AReadOnlyRegistryAcceptsOnlyReadingTools) {
  ToolRegistry registry(ToolRegistry::Mode::kReadOnly);
  EXPECT_TRUE(registry.add(std::make_unique<NamedTool>("Read", true)));
  const auto added = registry.add(std::make_unique<NamedTool>("Write", false));
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error().reason, "tool.not_read_only");
}

TEST(ToolRegistry, RemoveAndClearDropTools) {
  ToolRegistry registry;
  ASSERT_TRUE(registry.add(std::make_unique<NamedTool>("A")));
  ASSERT_TRUE(registry.add(std::make_unique<NamedTool>("B")));
  EXPECT_TRUE(registry.remove("A"));
  EXPECT_FALSE(registry.remove("A"));
  EXPECT_FALSE(registry.has("A"));
  registry.clear();
  EXPECT_TRUE(registry.list().empty());
}

}  // namespace
}  // namespace galley
