// Undo of a transaction beside `git revert` of the same change, on random histories.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "tests/engine/history/history_workspace.h"

namespace galley {
namespace {

constexpr int kHistories = 12;
constexpr int kSteps = 6;
constexpr int kLines = 60;

/// Runs git in a directory of its own, free of the user's configuration.
int git(const std::string& directory, const std::string& arguments) {
  const std::string command =
      "GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null GIT_CONFIG_COUNT=0 "
      "GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b "
      "git -C '" +
      directory + "' " + arguments + " >/dev/null 2>&1";
  return std::system(command.c_str());  // NOLINT(cert-env33-c): the oracle
}

/// The same random edits in a Galley workspace and a git repository.
class Twin {
 public:
  explicit Twin(unsigned seed) : random_(seed) {
    EXPECT_EQ(git(git_.path(), "init -q"), 0);
    EXPECT_EQ(git(git_.path(), "config core.autocrlf false"), 0);
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
    const bool git_can = git(git_.path(), "revert --no-edit HEAD~" + back) == 0;
    if (!git_can) {
      EXPECT_EQ(git(git_.path(), "revert --abort"), 0);
    }
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
    EXPECT_EQ(git(git_.path(), "reset -q --hard HEAD~1"), 0);
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
    EXPECT_EQ(git(git_.path(), "add -A"), 0);
    EXPECT_EQ(git(git_.path(), "commit -q --allow-empty -m step"), 0);
  }

  std::mt19937 random_;
  TempDirectory git_;
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
