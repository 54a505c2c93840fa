// Calls the tool of calculator.h.
//   example_calculator WORKSPACE      (a copy of fixtures/demo-project)
#include "calculator.h"

#include <iostream>

namespace {

int stop(const galley::Error& error) {
  std::cerr << error.message << "\n";
  return galley::exit_status(error.kind);
}

int run(const std::string& directory) {
  galley::WorkspaceOptions options;
  options.tools.push_back(calculator());
  std::cout << options.tools.back().info.input_schema << "\n";
  auto workspace = galley::Workspace::open(directory, options);
  if (!workspace) return stop(workspace.error());
  auto transaction = (*workspace)->begin({.agent = "example"});
  if (!transaction) return stop(transaction.error());
  const auto show = [&](const std::string& arguments) {
    const auto called = transaction->call("calculator", arguments);
    std::cout << (called ? called.json() : called.error().reason + ": " + called.error().message)
              << "\n";
  };
  show(R"j({"expression": "10 * (5 + 3)"})j");
  show(R"j({"expression": "evil()"})j");
  show(R"j({"expresion": "1"})j");
  show(R"j({"expression": "1 / (2 - 2)"})j");
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return argc == 2 ? run(argv[1]) : 2; }
