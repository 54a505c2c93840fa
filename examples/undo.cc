// Commits a change, reverts it, and prints what the history knows about it.
//   example_undo WORKSPACE      (a copy of fixtures/demo-project)
#include <galley/galley.h>

#include <iostream>
#include <string>
#include <variant>

namespace {

int stop(const galley::Error& error) {
  std::cerr << error.message << "\n";
  return galley::exit_status(error.kind);
}

/// Prints the outcome of a commit. An undo is also a commit: the gate judges it like any other.
bool tell(const std::string& what, const galley::CommitOutcome& outcome) {
  const auto* receipt = std::get_if<galley::Receipt>(&outcome);
  std::cout << what << ": " << (receipt != nullptr ? receipt->id.str() : "not committed") << "\n";
  return receipt != nullptr;
}

int run(const std::string& directory) {
  auto workspace = galley::Workspace::open(directory);
  if (!workspace) return stop(workspace.error());
  const galley::TransactionOptions who = {.agent = "example", .message = "say how heavy"};

  auto transaction = (*workspace)->begin(who);
  if (!transaction) return stop(transaction.error());
  if (auto written = transaction->write("LIMIT.txt", "30 kg\n"); !written) {
    return stop(written.error());
  }
  const auto committed = transaction->commit();
  if (!committed) return stop(committed.error());
  if (!tell("committed", *committed)) return 1;

  const auto undone = (*workspace)->undo("", {}, {.agent = "example"});  // "": the newest
  if (!undone) return stop(undone.error());
  if (!tell("undone by", *undone)) return 1;

  const auto redone = (*workspace)->redo("", {}, {.agent = "example"});
  if (!redone) return stop(redone.error());
  if (!tell("redone by", *redone)) return 1;

  const auto log = (*workspace)->log({.agent = "example"});
  if (!log) return stop(log.error());
  for (const galley::TxSummary& transaction_then : *log) {
    std::cout << transaction_then.id.str() << " " << transaction_then.tool << ": "
              << transaction_then.message << "\n";
  }
  const auto blame = (*workspace)->blame("LIMIT.txt");
  if (!blame) return stop(blame.error());
  for (const galley::Blame::Line& line : blame->lines) {
    std::cout << line.tx.str() << " wrote: " << line.text;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return argc == 2 ? run(argv[1]) : 2; }
