#include "engine/agent_tools/git_commit.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "support/git_oracle.h"
#include "support/temp_directory.h"

namespace galley {
namespace {

Node file_node(uint32_t mode = 0644) { return {FileKind::kRegular, mode, ContentId::of("x"), 1}; }

class GitCommits : public ::testing::Test {
 protected:
  GitCommits() {
    tree_.write("kept.txt", "kept\n");
    tree_.write("gone.txt", "gone\n");
    git("git init -q -b main . && git config user.name Ann && git config user.email a@example.org "
        "&& git add -A && git commit -q -m first");
  }

  std::string git(const std::string& command) {
    const auto ran = testing::run_in(tree_.path(), command);
    EXPECT_EQ(ran.status, 0) << command << ": " << ran.output;
    return ran.output;
  }
  static Change change(const std::string& path, Node before, Node after) {
    Change one;
    one.path = *RelPath::parse(path);
    one.before = before;
    one.after = after;
    return one;
  }
  /// A change of kept.txt that is on disk.
  ChangeSet changed() {
    tree_.write("kept.txt", "changed\n");
    return {change("kept.txt", file_node(), file_node())};
  }
  std::string refused(const ChangeSet& changes) {
    const auto made = commit_to_git(tree_.path(), "message", changes);
    return made ? "made " + *made : made.error().reason;
  }

  TempDirectory tree_;
};

TEST_F(GitCommits, ContainExactlyTheChangesOfTheTransaction) {
  tree_.write("new file.txt", "new\n");
  tree_.write("run.sh", "#!/bin/sh\n", 0755);
  tree_.write("theirs.txt", "theirs\n");
  tree_.write("staged.txt", "staged\n");
  git("git add staged.txt && git rm -q --cached gone.txt && git reset -q gone.txt && rm gone.txt");
  ChangeSet changes = changed();
  changes.push_back(change("new file.txt", Node(), file_node()));
  changes.push_back(change("run.sh", Node(), file_node(0755)));
  changes.push_back(change("gone.txt", file_node(), Node()));
  const auto made = commit_to_git(tree_.path(), "why\n\nmore", changes);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(git("git rev-parse HEAD"), *made + "\n");
  EXPECT_EQ(git("git show --format=%B --name-status HEAD"),
            "why\n\nmore\n\n\nD\tgone.txt\nM\tkept.txt\nA\tnew file.txt\nA\trun.sh\n");
  EXPECT_EQ(git("git status --porcelain"), "A  staged.txt\n?? theirs.txt\n")
      << "what others did stays as it was";
}

TEST_F(GitCommits, DoNotRunHooksSignersOrFiltersOfTheRepository) {
  const std::string mark = tree_.path() + "/ran";
  for (const char* hook : {"pre-commit", "commit-msg", "post-commit", "reference-transaction"}) {
    tree_.write(std::string(".git/hooks/") + hook, "#!/bin/sh\ntouch '" + mark + "'\n", 0755);
  }
  tree_.write("signer", "#!/bin/sh\ntouch '" + mark + "'\nexit 1\n", 0755);
  tree_.write(".gitattributes", "*.big filter=evil\n");
  tree_.write("other.big", "a\n");
  git("git add -A && git commit -q --no-verify -m second && rm -f ran");
  git("git config commit.gpgSign true && git config gpg.program '" + tree_.path() +
      "/signer' && git config filter.evil.clean 'touch " + mark +
      "; cat' && git config filter.evil.required true");
  tree_.write("other.big", "b\n");
  const auto made = commit_to_git(tree_.path(), "third", changed());
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_FALSE(tree_.exists("ran"));
}

TEST_F(GitCommits, RefuseAPathWithAFilter) {
  tree_.write(".gitattributes", "kept.txt filter=lfs\n");
  EXPECT_EQ(refused(changed()), "git.filtered_path");
  EXPECT_EQ(git("git log --format=%s"), "first\n");
}

TEST_F(GitCommits, LeaveIgnoredFilesAlone) {
  tree_.write(".gitignore", "*.log\n");
  tree_.write("build.log", "x\n");
  EXPECT_EQ(refused({change("build.log", Node(), file_node())}), "git.nothing_to_commit");
  EXPECT_EQ(git("git ls-files"), "gone.txt\nkept.txt\n");
}

TEST_F(GitCommits, AreRefusedWhileAnotherGitHoldsTheIndexLock) {
  const ChangeSet changes = changed();
  tree_.write(".git/index.lock", "");
  EXPECT_EQ(refused(changes), "git.index_locked");
}

TEST_F(GitCommits, TreatPathsLiterallyAndNotAsPatterns) {
  tree_.write("*.txt", "star\n");
  ASSERT_TRUE(commit_to_git(tree_.path(), "m", {change("*.txt", Node(), file_node())}));
  EXPECT_EQ(git("git show --format= --name-only HEAD"), "*.txt\n");
}

TEST_F(GitCommits, CanMakeTheFirstCommitOfARepository) {
  TempDirectory fresh;
  fresh.write("a.txt", "a\n");
  testing::run_in(fresh.path(),
                  "git init -q -b main . && git config user.name A && git config "
                  "user.email a@example.org");
  const auto made = commit_to_git(fresh.path(), "root", {change("a.txt", Node(), file_node())});
  EXPECT_TRUE(made) << made.error().message;
}

TEST_F(GitCommits, NeedARepositoryAndTheCapability) {
  TempDirectory none;
  EXPECT_EQ(commit_to_git(none.path(), "m", {}).error().reason, "git.no_repository");
  const auto tool = make_git_commit(none.path());
  EXPECT_EQ(tool->info().capabilities, std::vector<std::string>{"git:commit"});
  EXPECT_EQ(tool->info().security_tier, ToolInfo::Tier::kRestricted);
}

}  // namespace
}  // namespace galley
