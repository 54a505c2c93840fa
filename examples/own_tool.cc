// A custom tool, called in the same way as the standard tools: by name, with JSON arguments.
//   example_own_tool WORKSPACE      (a copy of fixtures/demo-project)
#include <galley/galley.h>

#include <algorithm>
#include <iostream>
#include <sstream>
#include <string>
#include <variant>
#include <vector>

namespace {

int stop(const galley::Error& error) {
  std::cerr << error.message << "\n";
  return galley::exit_status(error.kind);
}

galley::Result<std::string> sort_lines(galley::ToolRun& call) {
  const std::string path = call.text("path");
  const auto text = call.read(path);
  if (!text) return text.error();
  std::istringstream in(*text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  std::sort(lines.begin(), lines.end());
  std::string sorted;
  for (const std::string& line : lines) sorted += line + "\n";
  if (auto written = call.write(path, sorted); !written) return written.error();
  return "{\"lines\": " + std::to_string(lines.size()) + "}";
}

galley::ToolDefinition sort_lines_tool() {
  galley::ToolDefinition tool;
  tool.info.name = "SortLines";
  tool.info.title = "Sort lines";
  tool.info.description = "Sorts the lines of a text file.";
  tool.info.input_schema =
      R"({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"],
          "additionalProperties": false})";
  tool.info.output_schema =
      R"({"type": "object", "properties": {"lines": {"type": "integer"}}, "required": ["lines"]})";
  tool.info.capabilities = {"fs:read", "fs:write"};
  tool.run = sort_lines;
  return tool;
}

int run(const std::string& directory) {
  galley::WorkspaceOptions options;
  options.tools.push_back(sort_lines_tool());
  auto workspace = galley::Workspace::open(directory, options);
  if (!workspace) return stop(workspace.error());
  auto transaction = (*workspace)->begin({.agent = "example", .message = "sort the fruit"});
  if (!transaction) return stop(transaction.error());
  if (auto written = transaction->write("fruit.txt", "pear\napple\nfig\n"); !written) {
    return stop(written.error());
  }

  const auto misused = transaction->call("SortLines", R"({"file": "fruit.txt"})");
  if (!misused) std::cout << misused.error().reason << "\n";
  const auto sorted = transaction->call("SortLines", R"({"path": "fruit.txt"})");
  if (!sorted) return stop(sorted.error());
  std::cout << sorted.json() << "\n";

  const auto outcome = transaction->commit();
  if (!outcome) return stop(outcome.error());
  return std::holds_alternative<galley::Receipt>(*outcome) ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) { return argc == 2 ? run(argv[1]) : 2; }
