// The loop of an agent on one page: propose, read what does not fit or is refused, repair, commit.
//   example_agent_loop WORKSPACE      (a copy of fixtures/demo-project)
#include <galley/galley.h>

#include <iostream>
#include <string>
#include <variant>
#include <vector>

namespace {

struct Edit {
  std::string old_text;
  std::string new_text;
};

// Plays a language model. It remembers the file wrongly, then breaks the JSON, and learns from the
// answers.
Edit model(const std::vector<std::string>& feedback) {
  if (feedback.empty()) return {"\"max_kg\": 31.4", "\"max_kg\": 30"};
  if (feedback.size() == 1) return {"\"max_kg\": 31.5", "\"max_kg\": 30,,"};
  return {"\"max_kg\": 31.5", "\"max_kg\": 30"};
}

int stop(const galley::Error& error) {
  std::cerr << error.message << "\n";
  return galley::exit_status(error.kind);
}

int run(const std::string& directory) {
  auto workspace = galley::Workspace::open(directory);
  if (!workspace) return stop(workspace.error());

  std::vector<std::string> feedback;
  for (int attempt = 1; attempt <= 3; ++attempt) {
    auto transaction = (*workspace)->begin({.agent = "example", .message = "lower the limit"});
    if (!transaction) return stop(transaction.error());
    const Edit wanted = model(feedback);

    const auto edited = transaction->edit("data/rates.json", wanted.old_text, wanted.new_text);
    if (!edited) {  // the report says where it does not fit, and what would
      feedback.push_back(edited.report());
      std::cout << "attempt " << attempt << ": does not fit\n";
      continue;
    }
    const auto outcome = transaction->commit();
    if (!outcome) return stop(outcome.error());
    if (const auto* receipt = std::get_if<galley::Receipt>(&*outcome)) {
      std::cout << "attempt " << attempt << ": committed as " << receipt->id.str() << "\n";
      return 0;
    }
    if (const auto* refused = std::get_if<galley::Refused>(&*outcome)) {
      feedback.push_back(refused->refusal().message);
      std::cout << "attempt " << attempt << ": refused, " << refused->refusal().reason << "\n";
    }
  }
  return 1;
}

}  // namespace

int main(int argc, char** argv) { return argc == 2 ? run(argv[1]) : 2; }
