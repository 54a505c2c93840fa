#include "tools/tool_definition.h"

#include <algorithm>
#include <map>

#include "doubles/fake_command_runner.h"
#include "tools/tool_fixture.h"

namespace galley {
namespace {

using std::chrono::milliseconds;
using Category = ToolInfo::Category;
using Risk = ToolInfo::Risk;

ToolInfo plain() {
  ToolInfo info;
  info.name = "Plain";
  info.description = "Does nothing.";
  info.input_schema = R"({"type":"object","properties":{"n":{"type":"integer"}}})";
  info.output_schema = R"({"type":"object"})";
  return info;
}

/// The reason for which a definition is refused; empty when it is not.
std::string flaw_of(const ToolInfo& info) {
  const auto input = JsonSchema::compile(info.input_schema);
  EXPECT_TRUE(input);
  const auto checked = check_definition(info, *input);
  if (checked) return "";
  const bool names_tool = checked.error().message.find("'" + info.name + "'") != std::string::npos;
  EXPECT_TRUE(names_tool) << checked.error().message;
  return checked.error().reason;
}

TEST(ToolDefinition, MissingAndInvalidFieldsAreRefusedWithTheirReason) {
  EXPECT_EQ(flaw_of(plain()), "");
  using Change = std::function<void(ToolInfo&)>;
  const std::vector<std::pair<std::string, Change>> flaws = {
      {"tool.name", [](ToolInfo& info) { info.name = "no name"; }},
      {"tool.description", [](ToolInfo& info) { info.description = " \n"; }},
      {"tool.version", [](ToolInfo& info) { info.version = "1.0"; }},
      {"tool.namespace", [](ToolInfo& info) { info.namespace_name = "a b"; }},
      {"tool.limit", [](ToolInfo& info) { info.timeout = milliseconds(0); }},
      {"tool.limit", [](ToolInfo& info) { info.max_memory_bytes = 0; }},
      {"tool.limit", [](ToolInfo& info) { info.max_memory_bytes = kMaxAllToolsBytes + 1; }},
      {"tool.rollback", [](ToolInfo& info) { info.rollback_tool = "no name"; }},
      {"tool.successor", [](ToolInfo& info) { info.successor = "Other"; }},
      {"tool.successor",
       [](ToolInfo& info) {
         info.deprecated = "since 1.1.0: Other does more";
         info.successor = info.name;
       }},
      {"tool.example", [](ToolInfo& info) { info.examples = {"{"}; }},
      {"tool.example",
       [](ToolInfo& info) {
         info.examples = {"{}", R"({"n":"one"})"};
       }},
  };
  for (size_t i = 0; i < flaws.size(); ++i) {
    ToolInfo info = plain();
    flaws[i].second(info);
    EXPECT_EQ(flaw_of(info), flaws[i].first) << i;
  }
  ToolInfo whole = plain();
  whole.deprecated = "since 1.1.0: Other does more";
  whole.successor = "Other";
  whole.examples = {R"({"n":1})"};
  EXPECT_EQ(flaw_of(whole), "");
}

TEST(ToolDefinition, VersionsFollowSemver) {
  const auto is_version = [](const std::string& text) {
    ToolInfo info = plain();
    info.version = text;
    return flaw_of(info).empty();
  };
  for (const char* good :
       {"0.0.0", "1.2.3", "10.20.30", "1.0.0-alpha.1", "1.0.0+b7", "1.0.0-a+b"}) {
    EXPECT_TRUE(is_version(good)) << good;
  }
  for (const char* bad : {"", "1", "1.2", "1.2.3.4", "01.2.3", "1.2.x", "v1.2.3", "1.2.3-",
                          "1.2.3-01", "1.2.3+", "1.2.3 ", "-1.2.3", "1..3"}) {
    EXPECT_FALSE(is_version(bad)) << bad;
  }
}

TEST(ToolDefinition, TheCategorySetsTheTimeoutUnlessTheToolDoes) {
  const std::vector<std::tuple<Category, int, int>> table = {{Category::kDirect, 5'000, 1'000},
                                                             {Category::kApi, 10'000, 3'000},
                                                             {Category::kMcp, 10'000, 3'000},
                                                             {Category::kSystem, 30'000, 2'000}};
  for (const auto& [category, timeout, latency] : table) {
    ToolInfo info = plain();
    info.category = category;
    EXPECT_EQ(timeout_of(info), milliseconds(timeout)) << to_string(category);
    EXPECT_EQ(latency_target(category), milliseconds(latency)) << to_string(category);
    info.timeout = milliseconds(7);
    EXPECT_EQ(timeout_of(info), milliseconds(7));
  }
  EXPECT_EQ(memory_limit_of(plain()), uint64_t{200} << 20U);
}

TEST(ToolDefinition, TheNamespaceIsStatedOrThePartBeforeTheLastDot) {
  ToolInfo info = plain();
  EXPECT_EQ(namespace_of(info), "");
  info.name = "custom.deploy.run";
  EXPECT_EQ(namespace_of(info), "custom.deploy");
  info.namespace_name = "fs";
  EXPECT_EQ(namespace_of(info), "fs");
}

class StandardDefinitions : public ToolFixture {
 protected:
  /// The tree that the examples are about.
  void put_demo() {
    put("README.md", "# Demo\n\nA small tree.\n");
    put("src/app.py", "def main():\n    print('hello')\n");
  }
};

TEST_F(StandardDefinitions, EveryToolHasACompleteDefinition) {
  for (const ToolInfo& info : registry_.list()) {
    const bool reads = info.annotations.read_only;
    EXPECT_FALSE(info.examples.empty()) << info.name;
    EXPECT_FALSE(info.title.empty()) << info.name;
    EXPECT_FALSE(namespace_of(info).empty()) << info.name;
    EXPECT_TRUE(info.timeout) << info.name;
    EXPECT_FALSE(info.capabilities.empty()) << info.name;
    EXPECT_EQ(info.is_reversible, !reads) << info.name;
    EXPECT_EQ(info.security_tier, reads ? ToolInfo::Tier::kStandard : ToolInfo::Tier::kElevated)
        << info.name;
    for (const std::string& other : {info.rollback_tool, info.successor}) {
      EXPECT_TRUE(other.empty() || registry_.has(other)) << info.name << " names " << other;
    }
  }
}

TEST_F(StandardDefinitions, RisksMatchTheTableOfAios) {
  const std::map<std::string, Risk> table = {{"Read", Risk::kLow},
                                             {"Write", Risk::kMedium},
                                             {"Delete", Risk::kHigh},
                                             {"List", Risk::kLow},
                                             {"get_file_info", Risk::kLow},
                                             {"MakeDirectory", Risk::kLow},
                                             {"Move", Risk::kMedium},
                                             {"Copy", Risk::kLow},
                                             {"Chmod", Risk::kMedium},
                                             {"Symlink", Risk::kLow},
                                             {"Glob", Risk::kLow},
                                             {"Grep", Risk::kLow},
                                             {"write_file", Risk::kMedium},
                                             {"move_file", Risk::kMedium},
                                             {"create_directory", Risk::kLow},
                                             {"search_files", Risk::kLow}};
  for (const auto& [name, risk] : table) {
    const auto entry = registry_.get(name);
    ASSERT_TRUE(entry) << name;
    EXPECT_EQ(to_string((*entry)->tool->info().risk_level), to_string(risk)) << name;
  }
}

TEST_F(StandardDefinitions, EveryExampleSucceeds) {
  FakeCommandRunner runner;
  commands_ = &runner;
  put_demo();
  const Overlay::Entries nothing = overlay_.entries();
  for (const ToolInfo& info : registry_.list()) {
    for (const std::string& example : info.examples) {
      const ToolResult result = call(info.name, *parse_json(example));
      EXPECT_TRUE(result.ok) << info.name << " " << example << ": "
                             << (result.error ? result.error->message : "");
      overlay_.restore(nothing);
    }
  }
}

}  // namespace
}  // namespace galley
