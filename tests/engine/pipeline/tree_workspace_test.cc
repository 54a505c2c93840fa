#include "engine/pipeline/tree_workspace.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "doubles/fake_command_runner.h"
#include "support/scratch_repository.h"
#include "support/tree_state.h"

namespace galley {
namespace {

constexpr std::string_view kTreeRules = R"(
[[validator]]
builtin = "json"

[[policy.rule]]
paths = ["/locked/**"]
decision = "deny"
)";

/// A repository whose work tree and index are not what HEAD has.
class TreeWorkspaceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    scratch_.init();
    scratch_.write("galley.toml", kTreeRules);
    scratch_.write("a.txt", "one\ntwo\n");
    scratch_.write("sub/b.json", "{}\n");
    scratch_.commit("first");
    scratch_.write("a.txt", "staged\n");
    scratch_.git("add -A");
    scratch_.write("a.txt", "in the work tree\n");
    scratch_.write("galley.toml", "");
    scratch_.write("untracked", "x\n");
  }
  std::unique_ptr<Workspace> open(const std::string& revision = "HEAD",
                                  WorkspaceOptions options = {}) {
    auto opened = open_tree_workspace(scratch_.path(), revision, std::move(options));
    EXPECT_TRUE(opened.has_value()) << opened.error().message;
    return opened ? *std::move(opened) : nullptr;
  }

  ScratchRepository scratch_;
};

TEST_F(TreeWorkspaceTest, ReadsComeFromTheTreeNotFromTheWorkTree) {
  const auto workspace = open();
  auto transaction = workspace->begin();
  EXPECT_EQ(*transaction->read("a.txt"), "one\ntwo\n");
  EXPECT_EQ(transaction->look("untracked")->kind, FileKind::kAbsent);
  const auto called = transaction->call("Read", R"({"file_path": "a.txt"})");
  ASSERT_TRUE(called) << called.error().message;
  EXPECT_NE(called.json().find("two"), std::string::npos) << called.json();
  std::string names;
  const auto entries = transaction->list("");
  ASSERT_TRUE(entries.has_value());
  for (const std::string& name : *entries) names += name + " ";
  EXPECT_EQ(names, "a.txt galley.toml sub/ ");
}

TEST_F(TreeWorkspaceTest, StagedEditsGiveTheSameDiffAsGit) {
  const auto workspace = open();
  auto transaction = workspace->begin();
  ASSERT_TRUE(transaction->edit("a.txt", "two", "TWO"));
  ASSERT_TRUE(
      transaction->call("Write", R"({"file_path": "deep/new.json", "content": "{\"a\": 1}\n"})"));
  ASSERT_TRUE(transaction->move("sub/b.json", "sub/moved.json").has_value());
  ASSERT_TRUE(
      transaction->apply("--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,3 @@\n one\n TWO\n+three\n"));
  const auto preview = transaction->preview();
  ASSERT_TRUE(preview.has_value()) << preview.error().message;
  EXPECT_TRUE(preview->verdict.is_approved());
  const std::string ours = *render_diff(preview->proposal);

  scratch_.git("reset -q --hard");
  scratch_.write("a.txt", "one\nTWO\nthree\n");
  scratch_.write("deep/new.json", "{\"a\": 1}\n");
  scratch_.git("mv sub/b.json sub/moved.json");
  scratch_.git("add -A -- a.txt deep sub");
  EXPECT_EQ(ours, scratch_.output_of("diff --cached"));
}

TEST_F(TreeWorkspaceTest, TheRulesOfTheTreeApply) {
  const auto workspace = open();
  auto transaction = workspace->begin();
  ASSERT_TRUE(transaction->write("sub/b.json", "{broken\n").has_value());
  const auto refused = transaction->preview();
  ASSERT_TRUE(refused.has_value()) << refused.error().message;
  ASSERT_FALSE(refused->verdict.is_approved());
  EXPECT_EQ(refused->verdict.findings.front().rule, "json.syntax");
  auto other = workspace->begin();
  const auto denied = other->write("locked/x", "x\n");
  const auto judged = other->preview();
  EXPECT_TRUE(!denied || !judged->verdict.is_approved());
}

TEST_F(TreeWorkspaceTest, CommandsRunOnTheTree) {
  std::string seen;
  FakeCommandRunner runner([&seen](const Command&, Overlay& overlay) -> Result<CommandResult> {
    GALLEY_ASSIGN(const Content content, overlay.read(*RelPath::parse("a.txt")));
    seen = *content;
    GALLEY_TRY(overlay.write(*RelPath::parse("made.txt"), "made\n"));
    CommandResult result;
    result.exit_code = 0;
    result.effects_staged = true;
    return result;
  });
  WorkspaceOptions options;
  options.runner = &runner;
  const auto workspace = open("HEAD", std::move(options));
  auto transaction = workspace->begin();
  ASSERT_TRUE(transaction->run({"make"}).has_value());
  EXPECT_EQ(seen, "one\ntwo\n");
  EXPECT_EQ(*transaction->read("made.txt"), "made\n");
}

TEST_F(TreeWorkspaceTest, AFileThatCommandsCannotSeeIsNamed) {
  std::string deep;
  for (size_t i = 0; i < RelPath::kMaxComponents; ++i) deep += "d/";
  const std::string part(RelPath::kMaxBytes / 32, 'p');
  std::string lengthy;
  for (size_t i = 0; i < 32; ++i) lengthy += part + "/";
  const std::string name(RelPath::kMaxComponentBytes + 1, 'n');
  for (const std::string& path : {deep + "deep.txt", lengthy + "long.txt", name}) {
    scratch_.git("read-tree HEAD");
    scratch_.git("update-index --add --cacheinfo 100644,$(git rev-parse HEAD:a.txt)," + path);
    scratch_.git("tag -f odd $(git write-tree)");
    const auto workspace = open("odd");
    ASSERT_NE(workspace, nullptr);
    auto transaction = workspace->begin();
    const auto ran = transaction->run({"true"});
    ASSERT_FALSE(ran.has_value());
    EXPECT_EQ(ran.error().reason, "check.path");
    EXPECT_NE(ran.error().message.find(path), std::string::npos) << ran.error().message;
  }
}

TEST_F(TreeWorkspaceTest, CommitsAreRefusedAndTheRepositoryDoesNotChange) {
  const auto before = tree_state(scratch_.path());
  const std::string index = scratch_.read(".git/index");
  {
    const auto workspace = open();
    auto transaction = workspace->begin();
    ASSERT_TRUE(transaction->write("a.txt", "other\n").has_value());
    const auto committed = transaction->commit();
    ASSERT_FALSE(committed.has_value());
    EXPECT_EQ(committed.error().reason, "workspace.tree");
    EXPECT_EQ(workspace->begin_stored().error().reason, "workspace.tree");
    EXPECT_EQ(workspace->approve(transaction->proposal().id(), "me").error().reason,
              "workspace.tree");
    EXPECT_EQ(workspace->open_adopted_state().error().reason, "workspace.tree");
    EXPECT_TRUE(transaction->rollback().has_value());
  }
  EXPECT_EQ(tree_state(scratch_.path()), before);
  EXPECT_EQ(scratch_.read(".git/index"), index);
}

TEST_F(TreeWorkspaceTest, ABareRepositoryAndAnyRevisionCanBeOpened) {
  scratch_.git("clone -q --bare . bare.git");
  scratch_.git("tag first HEAD");
  const auto opened = open_tree_workspace(scratch_.path() + "/bare.git", "main", {});
  ASSERT_TRUE(opened.has_value()) << opened.error().message;
  EXPECT_EQ(*(*opened)->begin()->read("a.txt"), "one\ntwo\n");
  const auto below = open("first:sub");
  EXPECT_EQ(*below->begin()->read("b.json"), "{}\n");
  EXPECT_EQ(open_tree_workspace(scratch_.path(), "nowhere", {}).error().reason,
            "git.no_such_revision");
}

}  // namespace
}  // namespace galley
