#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "engine/pipeline/decide.h"
#include "engine/pipeline/workspace_state.h"
#include "staging/git/git_branch.h"
#include "staging/git/git_writer.h"
#include "support/scratch_repository.h"

namespace galley {
namespace {

constexpr std::string_view kBranchRules = R"(
[[validator]]
builtin = "json"
)";

/// A repository with the branch `main`, which is not checked out.
class GitWorkspaceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    scratch_.init();
    scratch_.git("config user.name a");
    scratch_.git("config user.email a@example.com");
    scratch_.write("galley.toml", kBranchRules);
    scratch_.write("a.txt", "one\ntwo\nthree\n");
    scratch_.write("sub/b.txt", "b\n");
    scratch_.commit("first");
    scratch_.git("checkout -q -b other");
  }
  void TearDown() override { EXPECT_TRUE(scratch_.can("fsck --strict")); }

  std::unique_ptr<Workspace> open(WorkspaceOptions options = {}) {
    auto opened = Workspace::open_git(scratch_.path(), "main", std::move(options));
    EXPECT_TRUE(opened.has_value()) << opened.error().message;
    return opened ? *std::move(opened) : nullptr;
  }
  [[nodiscard]] std::string tip() const {
    std::string id = scratch_.output_of("rev-parse main");
    id.pop_back();
    return id;
  }
  /// Another program adds a commit with the tree of the branch and one more file.
  void move_branch(const std::string& name) const {
    scratch_.git("checkout -q main");
    scratch_.write(name, "x\n");
    scratch_.commit("theirs");
    scratch_.git("checkout -q other");
  }

  ScratchRepository scratch_;
};

TEST_F(GitWorkspaceTest, ACommitMovesTheBranchAndTheViewFollows) {
  const auto workspace = open();
  const std::string before = tip();
  auto transaction = workspace->begin();
  ASSERT_TRUE(transaction->edit("a.txt", "two", "TWO"));
  ASSERT_TRUE(transaction->write("new/c.txt", "c\n").has_value());
  const auto committed = transaction->commit();
  ASSERT_TRUE(committed.has_value()) << committed.error().message;
  const auto* receipt = std::get_if<Receipt>(&*committed);
  ASSERT_NE(receipt, nullptr);
  EXPECT_EQ(receipt->git_commit, tip());
  EXPECT_EQ(scratch_.output_of("rev-parse main~1"), before + "\n");
  EXPECT_EQ(scratch_.output_of("show main:a.txt"), "one\nTWO\nthree\n");
  EXPECT_EQ(*workspace->begin()->read("new/c.txt"), "c\n");
  const auto undone = workspace->undo();
  ASSERT_TRUE(undone.has_value()) << undone.error().message;
  EXPECT_EQ(scratch_.output_of("rev-parse main^{tree}"),
            scratch_.output_of("rev-parse main~2^{tree}"));
  EXPECT_EQ(workspace->log()->size(), 2U);
}

TEST_F(GitWorkspaceTest, ABranchThatMovesAgainAndAgainIsAConflict) {
  for (const int moves : {kMaxMerges, kMaxMerges + 1}) {
    const auto workspace = open();
    auto transaction = workspace->begin();
    const std::string name = "n" + std::to_string(moves) + ".json";
    ASSERT_TRUE(transaction->write(name, "{}\n").has_value());
    int judged = 0;
    CommitRequest options;
    options.on_progress = [&](const Verdict::Progress& progress) {
      if (progress.done != progress.total || judged == moves) return;
      move_branch("moved" + std::to_string(moves) + "-" + std::to_string(judged++));
    };
    const auto committed = transaction->commit(options);
    ASSERT_TRUE(committed.has_value()) << committed.error().message;
    EXPECT_EQ(judged, moves);
    if (moves == kMaxMerges) {
      EXPECT_NE(std::get_if<Receipt>(&*committed), nullptr);
      continue;
    }
    const auto* conflict = std::get_if<Conflict>(&*committed);
    ASSERT_NE(conflict, nullptr);
    EXPECT_EQ(conflict->reason, "conflict.branch_moved");
    EXPECT_FALSE(scratch_.can("cat-file -e main:" + name));
  }
}

TEST_F(GitWorkspaceTest, ACommitThatLosesRacesKeepsOthersOutUntilItIsMade) {
  scratch_.git("checkout -q main");
  scratch_.write("galley.toml", std::string(kBranchRules) + "[commit]\nlock_timeout_ms = 50\n");
  scratch_.commit("rules");
  scratch_.git("checkout -q other");
  const auto workspace = open();
  const auto rival = open();
  auto transaction = workspace->begin();
  ASSERT_TRUE(transaction->write("mine.json", "{}\n").has_value());
  int won = 0;
  std::string kept_out;
  CommitRequest options;
  options.on_progress = [&](const Verdict::Progress& progress) {
    if (progress.done != progress.total || !kept_out.empty()) return;
    auto other = rival->begin();
    ASSERT_TRUE(other->write("n" + std::to_string(won), "x\n").has_value());
    const auto made = other->commit();
    if (made) ++won;
    if (!made) kept_out = made.error().reason;
  };
  const auto committed = transaction->commit(options);
  ASSERT_TRUE(committed.has_value()) << committed.error().message;
  EXPECT_NE(std::get_if<Receipt>(&*committed), nullptr);
  EXPECT_EQ(won, 3);
  EXPECT_EQ(kept_out, "commit.locked");
}

TEST_F(GitWorkspaceTest, SerializableReadsAreComparedWithTheBranch) {
  scratch_.git("checkout -q main");
  scratch_.write("galley.toml", "[commit]\nisolation = \"serializable\"\n");
  scratch_.commit("rules");
  scratch_.git("checkout -q other");
  const auto workspace = open();
  auto transaction = workspace->begin();
  ASSERT_TRUE(transaction->read("sub/b.txt").has_value());
  ASSERT_TRUE(transaction->write("n", "x\n").has_value());
  move_branch("elsewhere");
  const auto committed = transaction->commit();
  ASSERT_TRUE(committed.has_value()) << committed.error().message;
  EXPECT_NE(std::get_if<Receipt>(&*committed), nullptr);

  auto stale = workspace->begin();
  ASSERT_TRUE(stale->read("sub/b.txt").has_value());
  ASSERT_TRUE(stale->write("n2", "x\n").has_value());
  move_branch("sub/b.txt");
  const auto refused = stale->commit();
  ASSERT_TRUE(refused.has_value()) << refused.error().message;
  const auto* conflict = std::get_if<Conflict>(&*refused);
  ASSERT_NE(conflict, nullptr);
  EXPECT_EQ(conflict->reason, "conflict.read_changed");
}

TEST_F(GitWorkspaceTest, ARunNeedsAWorkTree) {
  const auto workspace = open();
  ASSERT_TRUE(workspace->begin_stored().has_value());
  EXPECT_EQ(persistent_of(*workspace).begin_run().error().reason, "git.no_runs");
  EXPECT_EQ(persistent_of(*workspace).write_config("", true).error().reason, "git.no_init");
}

/// Directories in which nothing changes are not read: their trees may be missing.
TEST_F(GitWorkspaceTest, OnlyTouchedDirectoriesAreRead) {
  const std::string untouched = scratch_.output_of("rev-parse main:sub").substr(0, 40);
  const std::string file = ".git/objects/" + untouched.substr(0, 2) + "/" + untouched.substr(2);
  const std::string kept = scratch_.path() + "/kept";
  std::filesystem::rename(scratch_.path() + "/" + file, kept);
  const auto workspace = open();
  auto transaction = workspace->begin();
  ASSERT_TRUE(transaction->edit("a.txt", "two", "TWO"));
  const auto committed = transaction->commit();
  ASSERT_TRUE(committed.has_value()) << committed.error().message;
  EXPECT_NE(std::get_if<Receipt>(&*committed), nullptr);
  std::filesystem::rename(kept, scratch_.path() + "/" + file);
}

TEST_F(GitWorkspaceTest, ABranchMovesOnlyFromTheCommitThatItHas) {
  const auto branch = GitBranch::open(GitAccess::open(scratch_.path()).value(), "main");
  ASSERT_TRUE(branch.has_value()) << branch.error().message;
  const GitTip first = (*branch)->shown();
  const GitWriter writer((*branch)->writers(), true);
  const auto made = writer.commit(first.tree, first.commit, "x\n");
  ASSERT_TRUE(made.has_value()) << made.error().message;
  const auto other = writer.commit(first.tree, first.commit, "y\n");
  EXPECT_EQ(*(*branch)->move(*made, *other, "x"), false);
  EXPECT_EQ(*(*branch)->contains(*made), false);
  EXPECT_EQ(*(*branch)->move(first.commit, *made, "x"), true);
  EXPECT_EQ(*(*branch)->contains(*made), true);
  EXPECT_EQ(*(*branch)->contains(std::string(40, '1')), false);
  EXPECT_EQ((*branch)->shown(), first);
  EXPECT_EQ((*branch)->follow()->commit, *made);
}

TEST_F(GitWorkspaceTest, TreesAreThoseOfGit) {
  const auto branch = GitBranch::open(GitAccess::open(scratch_.path()).value(), "main");
  ASSERT_TRUE(branch.has_value()) << branch.error().message;
  const std::string base = (*branch)->shown().tree;
  const GitTree files((*branch)->trees(), base);
  const std::string blob = files.entry(*RelPath::parse("a.txt"))->id;
  const GitWriter writer((*branch)->writers(), false);
  const auto path = [](const char* text) { return *RelPath::parse(text); };
  const auto tree = writer.tree(*(*branch)->trees(), base,
                                {{path("a.txt"), 0, ""},
                                 {path("a.txt/x"), 0100644, blob},
                                 {path("sub/b.txt"), 0, ""},
                                 {path("z/deep"), 0100755, blob}});
  ASSERT_TRUE(tree.has_value()) << tree.error().message;
  EXPECT_EQ(scratch_.output_of("ls-tree -r --format='%(objectmode) %(path)' " + *tree),
            "100644 a.txt/x\n100644 galley.toml\n100755 z/deep\n");
  const auto none = writer.tree(
      *(*branch)->trees(), base,
      {{path("a.txt"), 0, ""}, {path("galley.toml"), 0, ""}, {path("sub/b.txt"), 0, ""}});
  EXPECT_EQ(*none, (*branch)->layout().empty_tree());
}

}  // namespace
}  // namespace galley
