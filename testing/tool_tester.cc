#include <galley/testing/tool_tester.h>

#include <utility>

#include "engine/pipeline/transaction_state.h"

namespace galley {
namespace {

/// Returns why a call did not fail as expected; empty if it did.
std::string wrong_failure(const CallResult& called, const ToolCase& one, bool is_unchanged) {
  if (called) return "it has to fail with " + one.error + " and answered " + called.json() + "\n";
  const ToolError& error = *called.result().error;
  if (one.error != to_string(error.code) && one.error != error.reason) {
    return "it has to fail with " + one.error + " and failed with " +
           std::string(to_string(error.code)) + ", " + error.reason + ": " + error.message + "\n";
  }
  return is_unchanged ? "" : "it failed and left something staged\n";
}

std::string wrong_answer(const CallResult& called, const ToolCase& one) {
  if (!called) {
    return "it has to succeed and failed with " + called.error().reason + ": " +
           called.error().message + "\n";
  }
  if (!one.expected) return "";
  return json_is(called.json(), *one.expected).message;
}

std::string wrong_files(Transaction& transaction, const ToolCase& one) {
  std::string text;
  for (const auto& [path, content] : one.files) {
    text += file_is(transaction, path, content).message;
  }
  return text;
}

}  // namespace

ToolTester::ToolTester(Workspace& workspace, std::string tool)
    : workspace_(&workspace), tool_(std::move(tool)) {}

std::vector<ToolTester::Outcome> ToolTester::run(const std::vector<ToolCase>& cases) const {
  std::vector<Outcome> outcomes;
  for (const ToolCase& one : cases) {
    Outcome outcome{one.name, false, {}};
    auto transaction = workspace_->begin();
    if (transaction) {
      const CallResult called = transaction->call(tool_, one.input, one.options);
      outcome.message = one.error.empty()
                            ? wrong_answer(called, one)
                            : wrong_failure(called, one, transaction->proposal().is_empty());
      outcome.message += wrong_files(*transaction, one);
    } else {
      outcome.message = transaction.error().message + "\n";
    }
    outcome.passed = outcome.message.empty();
    outcomes.push_back(std::move(outcome));
  }
  return outcomes;
}

Assertion ToolTester::test(const std::vector<ToolCase>& cases) const {
  std::string text;
  size_t failed = 0;
  for (const Outcome& outcome : run(cases)) {
    if (outcome.passed) continue;
    ++failed;
    text += tool_ + ", " + outcome.name + ":\n" + outcome.message;
  }
  if (failed == 0) return {true, {}};
  return {false, text + std::to_string(failed) + " of " + std::to_string(cases.size()) +
                     " cases failed\n"};
}

}  // namespace galley
