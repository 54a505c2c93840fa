// An agent's loop in one page: propose, let the gate judge, read its no, repair, commit.
//   example_agent_loop WORKSPACE      (a copy of fixtures/demo-project)
#include <galley/galley.h>

#include <iostream>
#include <string>
#include <vector>

namespace {

// Stands in for a language model: its first answer breaks the JSON, and it learns from the refusal.
std::string model(const std::vector<std::string>& feedback) {
  return feedback.empty() ? "\"max_kg\": 30,," : "\"max_kg\": 30";
}

int run(const std::string& directory) {
  auto workspace = galley::Workspace::open(directory);
  if (!workspace) return std::cerr << workspace.error().message << "\n", 3;
  auto transaction = (*workspace)->begin({.agent = "example", .message = "lower the limit"});
  if (!transaction) return std::cerr << transaction.error().message << "\n", 3;

  std::vector<std::string> feedback;
  std::string old_text = "\"max_kg\": 31.5";
  for (int attempt = 1; attempt <= 3; ++attempt) {
    const std::string new_text = model(feedback);
    if (auto edited = transaction->edit("data/rates.json", old_text, new_text); !edited) {
      return std::cerr << edited.error().message << "\n", 1;
    }
    old_text = new_text;
    auto outcome = transaction->commit();
    if (!outcome) return std::cerr << outcome.error().message << "\n", 3;
    if (const auto* receipt = std::get_if<galley::Receipt>(&*outcome)) {
      std::cout << "attempt " << attempt << ": committed as " << receipt->id.str() << "\n";
      return 0;
    }
    if (const auto* refused = std::get_if<galley::Refused>(&*outcome)) {
      feedback.push_back(refused->refusal().message);
      std::cout << "attempt " << attempt << ": " << feedback.back() << "\n";
    }
  }
  return 1;
}

}  // namespace

int main(int argc, char** argv) { return argc == 2 ? run(argv[1]) : 2; }
