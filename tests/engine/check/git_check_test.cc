#include "engine/check/git_check.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "engine/pipeline/trust.h"
#include "support/scratch_directory.h"

namespace galley {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kRules = R"(
[[validator]]
builtin = "json"

[[policy.rule]]
paths = ["/locked/**"]
decision = "deny"
)";

class GitCheckTest : public ::testing::Test {
 protected:
  void SetUp() override {
    git("init -q -b main");
    write("galley.toml", kRules);
    write("a.txt", "one\ntwo\n");
    write("sub/b.json", "{}\n");
    commit("first");
  }
  void write(const std::string& name, std::string_view content) {
    const fs::path path = fs::path(scratch_.path()) / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << content;
  }
  void git(const std::string& arguments) {
    const std::string line = "cd '" + scratch_.path() +
                             "' && GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null git "
                             "-c user.name=a -c user.email=a@example.com " +
                             arguments + " >/dev/null 2>&1";
    ASSERT_EQ(std::system(line.c_str()), 0) << arguments;
  }
  void commit(const std::string& message) {
    git("add -A");
    git("commit -qm " + message);
  }
  std::unique_ptr<GitCheck> open(const CheckSource& source) {
    CheckOptions options;
    options.directory = scratch_.path();
    options.user = std::make_shared<const UserSettings>();
    auto opened = GitCheck::open(source, std::move(options));
    EXPECT_TRUE(opened.has_value()) << opened.error().message;
    return opened ? *std::move(opened) : nullptr;
  }
  Error error_of(const CheckSource& source) {
    CheckOptions options;
    options.directory = scratch_.path();
    options.user = std::make_shared<const UserSettings>();
    auto opened = GitCheck::open(source, std::move(options));
    return opened ? Error() : opened.error();
  }
  /// The rule of the first finding and its path; `yes` without any.
  static std::string answer(GitCheck& check) {
    const auto preview = check.judge();
    if (!preview) return preview.error().message;
    if (preview->verdict.is_approved()) return "yes";
    if (preview->verdict.findings.empty()) return "no";
    const Finding& first = preview->verdict.findings.front();
    return first.rule + " " + first.path;
  }
  static std::string paths_of(const GitCheck& check) {
    std::string all;
    for (const Change& change : check.proposal().changes()) all += change.path.str() + " ";
    return all;
  }

  ScratchDirectory scratch_;
  const CheckSource staged_{};
};

TEST_F(GitCheckTest, JudgesTheIndexAndNotTheWorkTree) {
  write("sub/b.json", "{broken\n");
  git("add -A");
  write("sub/b.json", "{}\n");
  EXPECT_EQ(answer(*open(staged_)), "json.syntax sub/b.json");
  git("add -A");
  write("sub/b.json", "{broken\n");
  EXPECT_EQ(paths_of(*open(staged_)), "");
  EXPECT_EQ(answer(*open({CheckSource::Kind::kWorktree})), "json.syntax sub/b.json");
}

TEST_F(GitCheckTest, DirectoriesComeAndGoWithTheirFiles) {
  git("rm -q sub/b.json");
  write("deep/er/x", "x\n");
  git("add -A");
  EXPECT_EQ(paths_of(*open(staged_)), "deep deep/er deep/er/x sub sub/b.json ");
}

TEST_F(GitCheckTest, AFileBecomesADirectoryAndADirectoryAFile) {
  git("rm -q a.txt sub/b.json");
  write("a.txt/in", "x\n");
  write("sub", "x\n");
  git("add -A");
  const auto check = open(staged_);
  EXPECT_EQ(paths_of(*check), "a.txt a.txt/in sub sub/b.json ");
  EXPECT_TRUE(check->proposal().changes()[0].is_type_change());
  EXPECT_TRUE(check->proposal().changes()[2].is_type_change());
}

TEST_F(GitCheckTest, TheProposalIsNamedAsThatOfATransaction) {
  write("a.txt", "one\nTWO\n");
  git("add -A");
  const auto check = open(staged_);
  git("commit -qm second");
  const auto again = open({CheckSource::Kind::kCommit, "", "HEAD"});
  EXPECT_EQ(check->proposal().id(), again->proposal().id());
  EXPECT_EQ(**again->proposal().content(again->proposal().changes()[0].after), "one\nTWO\n");
}

TEST_F(GitCheckTest, ARangeBeginsAtTheMergeBaseAndIsJudgedByItsTarget) {
  git("checkout -qb side");
  write("x.json", "{broken\n");
  write("galley.toml", "");
  commit("side");
  git("checkout -q main");
  write("m.txt", "m\n");
  commit("main");
  const auto check = open({CheckSource::Kind::kRange, "main", "side"});
  EXPECT_EQ(paths_of(*check), "galley.toml x.json ");
  EXPECT_EQ(answer(*check), "policy.path galley.toml");
  EXPECT_FALSE(check->config().validators.empty());
}

TEST_F(GitCheckTest, AFirstPushHasTheEmptyTreeAsItsBase) {
  EXPECT_EQ(paths_of(*open({CheckSource::Kind::kRange, "", "HEAD"})),
            "a.txt galley.toml sub sub/b.json ");
}

TEST_F(GitCheckTest, AnUnfinishedMergeIsRefused) {
  git("checkout -qb side");
  write("a.txt", "side\n");
  commit("side");
  git("checkout -q main");
  write("a.txt", "main\n");
  commit("main");
  git("merge side || true");
  const Error error = error_of(staged_);
  EXPECT_EQ(error.reason, "check.unmerged");
  EXPECT_NE(error.message.find("a.txt"), std::string::npos);
}

TEST_F(GitCheckTest, ANameThatNoChangeSetHoldsIsAFinding) {
  write("line\nbreak", "x\n");
  git("add -A");
  EXPECT_EQ(answer(*open(staged_)), "check.path line\nbreak");
}

TEST_F(GitCheckTest, APatchIsPutOntoHead) {
  write("a.txt", "other\n");
  CheckSource patch;
  patch.kind = CheckSource::Kind::kPatch;
  patch.patch = "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n";
  const auto check = open(patch);
  EXPECT_EQ(paths_of(*check), "a.txt ");
  EXPECT_EQ(answer(*check), "yes");
}

TEST_F(GitCheckTest, AMovedSubmoduleIsADirectoryWithTheLineOfItsCommit) {
  const std::string one(40, '1');
  const std::string two(40, '2');
  git("update-index --add --cacheinfo 160000," + one + ",module");
  git("commit -qm module");
  git("update-index --cacheinfo 160000," + two + ",module");
  const auto check = open(staged_);
  ASSERT_EQ(paths_of(*check), "module ");
  const Change& change = check->proposal().changes()[0];
  EXPECT_EQ(change.before.kind, FileKind::kDirectory);
  EXPECT_EQ(**check->proposal().store()->get(change.after.content),
            "Subproject commit " + two + "\n");
}

TEST_F(GitCheckTest, ManyFilesAreHashedSideBySide) {
  for (int i = 0; i < 300; ++i) write("many/f" + std::to_string(i), std::to_string(i) + "\n");
  git("add -A");
  const auto check = open(staged_);
  EXPECT_EQ(check->proposal().changes().size(), 301U);
  EXPECT_EQ(answer(*check), "yes");
}

}  // namespace
}  // namespace galley
