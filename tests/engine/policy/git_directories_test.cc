#include "engine/policy/git_directories.h"

#include <gmock/gmock.h>

#include <map>
#include <memory>

#include "doubles/fault_directory.h"
#include "policy_fixture.h"
#include "staging/fs/disk_directory.h"

namespace galley {
namespace {

using ::testing::HasSubstr;

class GitDirectoriesTest : public PolicyFixture {
 protected:
  static RelPath path(std::string_view text) { return RelPath::parse(text).value(); }
  void stage(std::string_view name, const std::string& text = "new\n") {
    ASSERT_TRUE(overlay_.write(path(name), text, {})) << name;
  }
  void link(std::string_view name, std::string_view target) {
    ASSERT_TRUE(workspace_.directory().make_symlink(path(name), target)) << name;
  }
  PolicyReport judged() {
    const Proposal proposal = freeze();
    const ProposedTree tree(proposal, workspace_.directory(), workspace_.path());
    auto report = Policy(config_).judge(tree, "");
    EXPECT_TRUE(report) << report.error().message;
    return report ? *report : PolicyReport{Decision::kDeny, {}};
  }
  /// The verdict on a proposal of only this file.
  std::string said(std::string_view name, const std::string& text = "new\n") {
    overlay_.restore({});
    stage(name, text);
    const PolicyReport report = judged();
    if (report.judgements.empty()) return "allow";
    return std::string(decision_name(report.decision)) + " " + report.judgements.front().message;
  }
};

TEST_F(GitDirectoriesTest, TheTargetOfAGitFileAtTheRootBelongsToGit) {
  workspace_.write(".git", "gitdir: ./repo.git\n");
  workspace_.write("repo.git/config", "[core]\n");
  EXPECT_EQ(said("repo.git/config"),
            "deny repo.git/config: it belongs to the git directory repo.git");
  EXPECT_THAT(said("repo.git/hooks/pre-commit"), HasSubstr("deny"));
  EXPECT_THAT(said("REPO.git/hooks/post-checkout"), HasSubstr("deny"));
  EXPECT_EQ(said("src/a.c"), "allow");
  EXPECT_EQ(said("repo.gitx"), "allow");
}

TEST_F(GitDirectoriesTest, AMissingTargetOfAGitFileBelongsToGit) {
  workspace_.write(".git", "gitdir: later/repo\n");
  EXPECT_THAT(said("later/repo/config"), HasSubstr("deny"));
  EXPECT_EQ(said("later/other"), "allow");
}

TEST_F(GitDirectoriesTest, AbsoluteAndIndirectPathsAreFollowed) {
  for (const std::string& text :
       {workspace_.path() + "/repo.git", workspace_.path() + "/src/../repo.git",
        "../" + workspace_.path().substr(workspace_.path().rfind('/') + 1) + "/repo.git",
        std::string("src/gen/../../repo.git")}) {
    workspace_.write(".git", "gitdir: " + text + "\n");
    EXPECT_THAT(said("repo.git/config"), HasSubstr("deny")) << text;
    EXPECT_EQ(said("src/a.c"), "allow") << text;
  }
  workspace_.write(".git", "gitdir: /nowhere/repo.git\n");
  EXPECT_EQ(said("repo.git/config"), "allow") << "that one is not here";
}

TEST_F(GitDirectoriesTest, AGitFileNextToTheChangedFileIsFollowed) {
  workspace_.write("sub/.git", "gitdir: ../modules/sub\n");
  overlay_.restore({});
  stage("sub/file");
  stage("modules/sub/config");
  EXPECT_EQ(judged().decision, Decision::kDeny);
  overlay_.restore({});
  stage("sub/file");
  EXPECT_EQ(judged().decision, Decision::kAllow);
}

TEST_F(GitDirectoriesTest, GitDirectoriesOfAllListedSubmodulesAreProtected) {
  workspace_.write(".gitmodules", "[submodule \"lib\"]\n\tpath = \"vendor/lib\"\n\turl = x\n");
  workspace_.write("vendor/lib/.git", "gitdir: ../../store\n");
  EXPECT_THAT(said("store/config"), HasSubstr("deny"));
  EXPECT_EQ(said("vendor/lib/file"), "allow");
}

TEST_F(GitDirectoriesTest, TheCommonDirectoryAndItsWorktreesBelongToGit) {
  workspace_.write(".git", "gitdir: bare/worktrees/one\n");
  workspace_.write("bare/worktrees/one/commondir", "../..\n");
  EXPECT_THAT(said("bare/config"), HasSubstr("deny"));
  EXPECT_THAT(said("bare/worktrees/two/gitdir"), HasSubstr("deny"));
}

TEST_F(GitDirectoriesTest, LinksToAGitDirectoryAreProtected) {
  link(".git", "really");
  EXPECT_THAT(said("really/config"), HasSubstr("deny"));
  ASSERT_TRUE(workspace_.directory().remove_file(path(".git")));

  workspace_.write("a.git/repo/config", "");
  workspace_.write("b.git/repo/config", "");
  link("way", "a.git");
  workspace_.write(".git", "gitdir: way/repo\n");
  EXPECT_THAT(said("a.git/repo/config"), HasSubstr("deny"));
  overlay_.restore({});
  ASSERT_TRUE(overlay_.remove(path("way")));
  ASSERT_TRUE(overlay_.make_symlink(path("way"), "b.git"));
  EXPECT_EQ(judged().decision, Decision::kDeny) << "git would be led elsewhere";
}

TEST_F(GitDirectoriesTest, MakingAFolderLookLikeARepositoryNeedsAnApproval) {
  stage("x/HEAD", "ref: refs/heads/main\n");
  EXPECT_EQ(judged().decision, Decision::kAllow) << "not yet";
  stage("x/objects/info/packs");
  stage("x/refs/heads/main");
  const PolicyReport report = judged();
  EXPECT_EQ(report.decision, Decision::kAsk);
  ASSERT_EQ(report.judgements.size(), 1U);
  EXPECT_EQ(report.judgements.front().rule, "policy.effects.git_directories");
  EXPECT_EQ(report.judgements.front().path, "x");
  configure("[policy.effects]\ngit_directories = \"allow\"\n");
  EXPECT_EQ(judged().decision, Decision::kAllow);
}

TEST_F(GitDirectoriesTest, CompletingOrChangingARepositoryNeedsAnApproval) {
  workspace_.write("x/HEAD", "ref: refs/heads/main\n");
  workspace_.write("x/refs/heads/main", "");
  EXPECT_THAT(said("x/Objects/x"), HasSubstr("ask"));
  EXPECT_EQ(said("x/other"), "allow");
  workspace_.write("x/objects/pack/p", "");
  EXPECT_THAT(said("x/config"), HasSubstr("ask")) << "inside one that is there";
  workspace_.write("y/commondir", "../x");
  EXPECT_THAT(said("y/HEAD"), HasSubstr("ask")) << "a worktree's folder";
}

TEST_F(GitDirectoriesTest, EachDirectoryAboveAChangeIsLookedAtTwice) {
  constexpr size_t kDirectories = 20;
  for (size_t i = 0; i < kDirectories; ++i) {
    workspace_.write("many/d" + std::to_string(i) + "/f", "old\n");
    stage("many/d" + std::to_string(i) + "/f");
  }
  const auto plan = std::make_shared<FaultPlan>();
  const auto counted =
      make_fault_directory(open_writable_disk_directory(workspace_.path()).value(), plan);
  const Proposal proposal = freeze();
  const ProposedTree tree(proposal, *counted, workspace_.path());
  ASSERT_TRUE(GitDirectories::of(tree));
  std::map<std::string, size_t> calls;
  for (const FaultCall& call : plan->calls) {
    if (call.path.starts_with("many/")) ++calls[call.path.substr(0, call.path.rfind('/'))];
  }
  EXPECT_EQ(calls.size(), kDirectories + 1);
  for (const auto& [directory, times] : calls) {
    EXPECT_LE(times, 2U) << directory << ": one look for .git, one for HEAD";
  }
}

TEST_F(GitDirectoriesTest, AHugeCommonDirIsAnError) {
  workspace_.write(".git/commondir", std::string(100'000, '\n'));
  stage("src/a.c");
  const Proposal proposal = freeze();
  const auto report = Policy(config_).judge(ProposedTree(proposal, workspace_.directory()), "");
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().kind, ErrorKind::kQuota);
}

TEST_F(GitDirectoriesTest, LoopsAndInvalidGitFilesAreIgnored) {
  link("loop", "loop");
  for (const char* text : {"gitdir: loop\n", "gitdir: \n", "gitdir: ../../../../../..\n",
                           "gitdir:", "gitdir: a\x01\n"}) {
    workspace_.write(".git", text);
    EXPECT_EQ(said("src/a.c"), "allow") << text;
  }
}

}  // namespace
}  // namespace galley
