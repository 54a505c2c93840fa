// Tests a custom tool with Galley::testing and without a test framework.
#include <galley/testing/testing.h>

#include <algorithm>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

namespace {

/// The tool under test: sorts the lines of a file.
galley::ToolDefinition sort_lines_tool() {
  galley::ToolInfo info;
  info.name = "sort_lines";
  info.title = "Sort lines";
  info.description = "Sorts the lines of a file.";
  info.input_schema = R"({"type": "object", "required": ["path"], "additionalProperties": false,
    "properties": {"path": {"type": "string"}}})";
  info.output_schema = R"({"type": "object", "required": ["lines"],
    "properties": {"lines": {"type": "integer"}}})";
  info.capabilities = {"fs:read", "fs:write"};
  const auto run = [](galley::ToolRun& call) -> galley::Result<std::string> {
    const auto text = call.read(call.text("path"));
    if (!text) return tl::unexpected(text.error());
    std::vector<std::string> lines;
    std::istringstream stream(*text);
    for (std::string line; std::getline(stream, line);) lines.push_back(line + "\n");
    std::sort(lines.begin(), lines.end());
    std::string sorted;
    for (const std::string& line : lines) sorted += line;
    if (const auto written = call.write(call.text("path"), sorted); !written) {
      return tl::unexpected(written.error());
    }
    return R"({"lines": )" + std::to_string(lines.size()) + "}";
  };
  return {info, run};
}

/// Prints what is wrong. Returns whether the assertion holds.
bool check(const char* what, const galley::Assertion& assertion) {
  if (!assertion) std::cout << what << ":\n" << assertion.message;
  return assertion.holds;
}

bool test_cases(galley::Workspace& workspace) {
  const galley::ToolTester tester(workspace, "sort_lines");
  const std::vector<galley::ToolCase> cases = {
      {.name = "sorts",
       .input = R"({"path": "names"})",
       .expected = R"({"lines": 2})",
       .files = {{"names", "ada\nben\n"}}},
      {.name = "needs a path", .input = "{}", .error = "EVALIDATION"},
      {.name = "names what is missing", .input = R"({"path": "x"})", .error = "path.not_found"},
  };
  return check("sort_lines", tester.test(cases));
}

bool test_diff(galley::Workspace& workspace) {
  auto transaction = workspace.begin();
  if (!transaction || !transaction->call("sort_lines", R"({"path": "names"})")) return false;
  return check("the diff", galley::diff_is(transaction->proposal(),
                                           "--- a/names\n+++ b/names\n@@ -1,2 +1,2 @@\n"
                                           "-ben\n ada\n+ben\n"));
}

bool test_mock(galley::Workspace& workspace) {
  galley::MockTool weather("weather.today");
  weather.answer(R"({"city": "Ulm"})", R"({"degrees": 21})");
  if (!workspace.add_tool(weather.definition())) return false;
  auto transaction = workspace.begin();
  if (!transaction) return false;
  const auto called = transaction->call("weather.today", R"({"city":"Ulm"})");
  return check("the mock", galley::json_is(called.json(), R"({"degrees": 21})")) &&
         weather.calls().size() == 1;
}

}  // namespace

int main() {
  galley::WorkspaceOptions options;
  options.tools.push_back(sort_lines_tool());
  const auto tree = galley::TemporaryWorkspace::make({{"names", "ben\nada\n"}}, std::move(options));
  if (!tree) {
    std::cout << tree.error().message << "\n";
    return 1;
  }
  galley::Workspace& workspace = tree->workspace();
  bool is_good = test_cases(workspace);
  is_good = test_diff(workspace) && is_good;
  is_good = test_mock(workspace) && is_good;
  return is_good ? 0 : 1;
}
