#include "staging/git/git_program.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "staging/git/git_objects.h"
#include "support/scratch_repository.h"

namespace galley {
namespace {

using std::chrono::milliseconds;

/// A program `git` of the test's own stands first on PATH.
class GitProgramTest : public ::testing::Test {
 protected:
  GitProgramTest() : path_(std::getenv("PATH")) { scratch_.init(); }
  ~GitProgramTest() override { ::setenv("PATH", path_.c_str(), 1); }

  /// Puts a `git` on the PATH that prints an empty configuration, and runs `lines` for every other
  /// command.
  void pretend(const std::string& lines) {
    scratch_.write("bin/git",
                   "#!/bin/sh\ncase \"$*\" in *'config --list'*) exit 0 ;; esac\n" + lines + "\n");
    std::filesystem::permissions(scratch_.path() + "/bin/git", std::filesystem::perms::owner_all);
    ::setenv("PATH", (scratch_.path() + "/bin:" + path_).c_str(), 1);
  }
  [[nodiscard]] GitProgram git() const {
    return GitProgram(scratch_.path()).with_bounds({std::chrono::seconds(60), 1000});
  }
  /// A copy without patience. The configuration is read before, and copies share it.
  [[nodiscard]] GitProgram hasty_git() const {
    const GitProgram patient = git();
    EXPECT_TRUE(patient.key_that_redirects());
    return patient.with_bounds({milliseconds(300), 1000});
  }

  ScratchRepository scratch_;

 private:
  std::string path_;
};

TEST_F(GitProgramTest, ANameOfAReferenceIsJudgedAsGitJudgesIt) {
  for (const char* name : {"refs/heads/main",
                           "refs/heads/a/b.c",
                           "refs/heads/\xc3\xa9",
                           "a/b",
                           "refs/heads/@",
                           "refs/heads/-x",
                           "refs/heads/a{b",
                           "main",
                           "@",
                           "",
                           "/",
                           "refs/heads/",
                           "/refs/heads/a",
                           "refs//heads/a",
                           "refs/heads/.a",
                           "refs/heads/a/.b",
                           "refs/heads/a.",
                           "refs/heads/a./b",
                           "refs/heads/a..b",
                           "refs/heads/a.lock",
                           "refs/heads/a.lock/b",
                           "refs/heads/a@{1}",
                           "refs/heads/a~1",
                           "refs/heads/a^",
                           "refs/heads/a:b",
                           "refs/heads/a?",
                           "refs/heads/a*",
                           "refs/heads/a[b",
                           "refs/heads/a\\b",
                           "refs/heads/a b",
                           "refs/heads/a\tb",
                           "refs/heads/a\x7f"}) {
    const auto said = git().try_run({"check-ref-format", name});
    ASSERT_TRUE(said.has_value());
    EXPECT_EQ(is_ref_name(name), said->status == 0) << "'" << name << "'";
  }
}

// Limit: kMaxMemoryBytes of staging/git/git_program.h
TEST_F(GitProgramTest, TheMemoryOfGitIsLimited) {
  pretend("ulimit -d");
  const auto said = git().run({"diff-tree"});
  ASSERT_TRUE(said.has_value()) << said.error().message;
  EXPECT_EQ(*said, std::to_string(GitProgram::kMaxMemoryBytes >> 10U) + "\n");
}

TEST_F(GitProgramTest, AGitWithoutMemoryOrWordsIsToldFromADamagedObject) {
  const Error full = GitProgram::error("error: inflate: out of memory\nfatal: bad object\n");
  EXPECT_EQ(full.reason, "limit.git_memory");
  EXPECT_EQ(full.kind, ErrorKind::kQuota);
  const Error silent = GitProgram::error("hint: Support for grafts is deprecated\nhint: x\n");
  EXPECT_EQ(silent.reason, "git.failed");
  EXPECT_EQ(silent.message, "git failed without a message: it crashed, or a signal ended it");
}

TEST_F(GitProgramTest, AConfigurationThatIsTooLongIsNamed) {
  scratch_.write("bin/git", "#!/bin/sh\nhead -c 17000000 /dev/zero\n");
  std::filesystem::permissions(scratch_.path() + "/bin/git", std::filesystem::perms::owner_all);
  ::setenv("PATH", (scratch_.path() + "/bin:" + std::getenv("PATH")).c_str(), 1);
  const auto said = git().run({"rev-parse"});
  ASSERT_FALSE(said.has_value());
  EXPECT_EQ(said.error().reason, "limit.git_output");
  EXPECT_NE(said.error().message.find("configuration for this repository has more than 16 MiB"),
            std::string::npos)
      << said.error().message;
}

// Limit: kMaxTime of staging/git/git_program.h
TEST_F(GitProgramTest, AHangingGitIsEndedAndTheErrorNamesTheCommand) {
  pretend("exec sleep 1000");
  const auto said = hasty_git().run({"diff-index", "HEAD"});
  ASSERT_FALSE(said.has_value());
  EXPECT_EQ(said.error().kind, ErrorKind::kTimeout);
  EXPECT_EQ(said.error().reason, "git.timeout");
  EXPECT_NE(said.error().message.find("git diff-index"), std::string::npos);
  EXPECT_NE(said.error().message.find("GALLEY_GIT_TIMEOUT"), std::string::npos);
}

TEST_F(GitProgramTest, AHangingInteractiveGitIsEnded) {
  pretend("exec sleep 1000");
  const GitObjects objects(hasty_git());
  EXPECT_EQ(objects.look("HEAD").error().reason, "git.timeout");
  EXPECT_EQ(objects.content("HEAD", "commit", 100).error().reason, "git.timeout");
}

// Limit: kMaxOutputBytes of staging/git/git_program.h
TEST_F(GitProgramTest, TooMuchOutputOfGitIsAnError) {
  pretend("exec yes");
  const auto said = git().run({"ls-files"});
  ASSERT_FALSE(said.has_value());
  EXPECT_EQ(said.error().kind, ErrorKind::kQuota);
  EXPECT_EQ(said.error().reason, "limit.git_output");
}

TEST_F(GitProgramTest, AMissingGitIsAnError) {
  pretend("");
  ::setenv("PATH", scratch_.path().c_str(), 1);
  EXPECT_EQ(git().run({"status"}).error().reason, "git.program_missing");
  EXPECT_EQ(git().start({"cat-file"}).error().reason, "git.program_missing");
}

}  // namespace
}  // namespace galley
