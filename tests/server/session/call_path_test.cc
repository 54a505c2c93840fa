// The way of a call from an agent's request to its tool: who reads about it in
// docs/ARCHITECTURE.md finds these functions, and no others.
#include <cxxabi.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

#include <galley/workspace.h>
#include "engine/calls/action_states.h"
#include "server/session/workspace_features.h"
#include "support/temp_directory.h"

namespace galley {
namespace {

using nlohmann::json;

constexpr size_t kMostFrames = 15;

class SilentRequest final : public McpRequest {
 public:
  [[nodiscard]] std::stop_token stop() const override { return {}; }
  void progress(double, std::optional<double>, std::string_view) override {}
  void log(std::string_view, const nlohmann::ordered_json&) override {}
  [[nodiscard]] bool client_can(std::string_view) const override { return false; }
  std::optional<json> ask(std::string_view, std::string_view, nlohmann::ordered_json) override {
    return {};
  }
  [[nodiscard]] const json& kept() const override { return kept_; }
  void keep(nlohmann::ordered_json) override {}
  void come_again() override {}
  void answer_always() override {}
  [[nodiscard]] const std::string& session() const override { return session_; }

 private:
  json kept_;
  std::string session_;
};

/// The functions that are being called, the innermost first: `Class::function`.
std::vector<std::string> functions_on_the_stack() {
  std::vector<void*> frames(256);
  frames.resize(static_cast<size_t>(backtrace(frames.data(), static_cast<int>(frames.size()))));
  std::vector<std::string> names;
  for (void* frame : frames) {
    Dl_info info{};
    std::string name = "?";
    if (dladdr(frame, &info) != 0 && info.dli_sname != nullptr) {
      int status = 0;
      const std::unique_ptr<char, decltype(&std::free)> plain(
          abi::__cxa_demangle(info.dli_sname, nullptr, nullptr, &status), &std::free);
      name = status == 0 ? plain.get() : info.dli_sname;
    }
    name = name.substr(0, name.find_first_of("([<"));
    if (name.starts_with("galley::")) name = name.substr(std::string("galley::").size());
    names.push_back(name);
  }
  return names;
}

TEST(CallPath, HasFewFramesAndTheArchitecturePageNamesThem) {
#ifdef GALLEY_SANITIZED
  GTEST_SKIP() << "a sanitizer has frames of its own";
#endif
  const TempDirectory tree;
  auto workspace = Workspace::open(tree.path());
  ASSERT_TRUE(workspace) << workspace.error().message;
  std::vector<std::string> way;
  ToolDefinition tool;
  tool.info.name = "Where";
  tool.info.description = "Tells by which way it was called.";
  tool.info.input_schema = tool.info.output_schema = R"({"type":"object"})";
  tool.run = [&way](ToolRun&) -> Result<std::string> {
    way = functions_on_the_stack();
    return std::string("{}");
  };
  ASSERT_TRUE((*workspace)->add_tool(std::move(tool)));
  WorkspaceFeatures features(**workspace, {});
  SilentRequest request;
  const McpAnswer answer = features.call_tool("Where", json::object(), request);
  const auto* result = std::get_if<nlohmann::ordered_json>(&answer);
  ASSERT_NE(result, nullptr);
  ASSERT_FALSE(result->value("isError", false)) << result->dump();
  const auto request_at = std::find(way.begin(), way.end(), "WorkspaceFeatures::call_tool");
  const auto tool_at = std::find(way.begin(), way.end(), "DefinedTool::run");
  ASSERT_TRUE(request_at < way.end() && tool_at < request_at) << ::testing::PrintToString(way);
  const std::vector<std::string> frames(tool_at, request_at + 1);
  EXPECT_LE(frames.size(), kMostFrames) << ::testing::PrintToString(frames);
  std::ifstream file(std::string(GALLEY_SOURCE_DIR) + "/docs/ARCHITECTURE.md");
  std::stringstream page;
  page << file.rdbuf();
  for (const std::string& name : frames) {
    EXPECT_NE(page.str().find("`" + name + "`"), std::string::npos) << name;
  }
}

TEST(CallPath, OnlyTheExecutorMakesActionStates) {
  static_assert(!std::is_constructible_v<Allowed, Admitted>);
  static_assert(!std::is_constructible_v<Ran, Allowed, ToolResult>);
  static_assert(!std::is_constructible_v<Ran, Admitted, Error>);
  static_assert(!std::is_default_constructible_v<Allowed>);
  static_assert(!std::is_default_constructible_v<Ran>);
}

}  // namespace
}  // namespace galley
