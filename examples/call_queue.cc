// Makes calls of tools on a thread of its own, and commits what they staged.
//   example_call_queue WORKSPACE      (a copy of fixtures/demo-project)
#include <galley/galley.h>

#include <future>
#include <iostream>
#include <string>
#include <utility>
#include <variant>

namespace {

int stop(const galley::Error& error) {
  std::cerr << error.message << "\n";
  return galley::exit_status(error.kind);
}

int run(const std::string& directory) {
  auto workspace = galley::Workspace::open(directory);
  if (!workspace) return stop(workspace.error());
  auto transaction = (*workspace)->begin({.agent = "example", .message = "say how heavy"});
  if (!transaction) return stop(transaction.error());

  galley::Transaction::CallQueue queue(*std::move(transaction));
  auto written = queue.submit("Write", R"({"file": "LIMIT.txt", "content": "30 kg\n"})");
  auto read = queue.submit("Read", R"({"file": "LIMIT.txt"})");  // made after the first
  std::cout << "the calls run, and this thread goes on\n";
  if (const auto result = written.get(); !result) return stop(result.error());
  if (const auto result = read.get(); !result) return stop(result.error());

  galley::Transaction done = queue.finish();
  const auto outcome = done.commit();
  if (!outcome) return stop(outcome.error());
  const bool is_committed = std::holds_alternative<galley::Receipt>(*outcome);
  std::cout << (is_committed ? "committed\n" : "not committed\n");
  return is_committed ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) { return argc == 2 ? run(argv[1]) : 2; }
