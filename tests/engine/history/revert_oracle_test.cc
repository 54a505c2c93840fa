// Undo of a transaction compared with `git revert` of the same change, on random histories.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "support/scratch_repository.h"
#include "tests/engine/history/history_workspace.h"

namespace galley {
namespace {

constexpr int kHistories = 12;
constexpr int kSteps = 6;
constexpr int kLines = 60;

/// The same random edits in a Galley workspace and a git repository.
class Twin {
 public:
  explicit Twin(unsigned seed) : random_(seed) {
    git_.init();
    for (const char* name : {"a.txt", "b.txt"}) {
      std::string text;
      for (int i = 0; i < kLines; ++i) text += std::string(name) + " " + std::to_string(i) + "\n";
      git_.write(name, text);
      galley_.write(name, text);
      files_[name] = text;
    }
    commit_git();
  }

  /// One transaction and one git commit.
  void step(int number) {
    const std::string name = random_() % 2 == 0 ? "a.txt" : "b.txt";
    std::string& text = files_[name];
    for (int i = 0; i < 2; ++i) edit(text, number * 10 + i);
    galley_.commit_file(name, text);
    git_.write(name, text);
    commit_git();
  }

  /// Undoes transaction `id` on both sides; whether they agree.
  void compare_undo(uint64_t id) {
    const std::string back = std::to_string(static_cast<uint64_t>(kSteps) - id);
    const bool git_can = git_.can("revert --no-edit HEAD~" + back);
    if (!git_can) git_.git("revert --abort");
    const auto outcome = plan_undo(galley_.history(), galley_.root(), TxId{id}, galley_.clock());
    ASSERT_TRUE(outcome.has_value()) << outcome.error().message;
    EXPECT_EQ(!std::holds_alternative<UndoConflict>(*outcome), git_can);
    if (!git_can) {
      ++refused_;
      return;
    }
    if (std::holds_alternative<UndoPlan>(*outcome)) galley_.publish_plan(outcome);
    for (const auto& [name, text] : files_) EXPECT_EQ(galley_.read(name), git_.read(name)) << name;
    // Back to where both were.
    git_.git("reset -q --hard HEAD~1");
    if (std::holds_alternative<UndoPlan>(*outcome)) galley_.redo();
    for (const auto& [name, text] : files_) EXPECT_EQ(galley_.read(name), text) << name;
    ++undone_;
  }

  [[nodiscard]] int undone() const { return undone_; }
  [[nodiscard]] int refused() const { return refused_; }

 private:
  void edit(std::string& text, int number) {
    const size_t lines = static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
    size_t at = 0;
    for (size_t line = random_() % lines; line > 0; --line) at = text.find('\n', at) + 1;
    const size_t end = text.find('\n', at) + 1;
    const std::string fresh = "edit " + std::to_string(number) + "\n";
    switch (random_() % 3) {
      case 0:
        text.replace(at, end - at, fresh);
        break;
      case 1:
        text.insert(at, fresh);
        break;
      default:
        text.erase(at, end - at);
    }
  }
  void commit_git() {
    git_.git("add -A");
    git_.git("commit -q --allow-empty -m step");
  }

  std::mt19937 random_;
  ScratchRepository git_;
  HistoryWorkspace galley_;
  std::map<std::string, std::string> files_;
  int undone_ = 0;
  int refused_ = 0;
};

TEST(RevertOracle, UndoDoesWhatGitRevertDoes) {
  if (std::system("git --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "git is not installed";
  int undone = 0;
  int refused = 0;
  for (unsigned seed = 1; seed <= kHistories; ++seed) {
    SCOPED_TRACE(seed);
    Twin twin(seed);
    for (int step = 1; step <= kSteps; ++step) twin.step(step);
    for (uint64_t id = 1; id <= kSteps; ++id) twin.compare_undo(id);
    undone += twin.undone();
    refused += twin.refused();
  }
  EXPECT_GT(undone, kHistories);
  EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace galley
