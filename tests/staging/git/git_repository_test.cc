#include "staging/git/git_repository.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "support/scratch_repository.h"

namespace galley {
namespace {

namespace fs = std::filesystem;

RelPath path_of(std::string_view text) { return *RelPath::parse(text); }

class GitRepositoryTest : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::string& content) { scratch_.write(name, content); }
  void git(const std::string& arguments) { scratch_.git(arguments); }
  GitRepository open(const std::string& below = "") {
    auto found = GitRepository::discover(scratch_.path() + below);
    EXPECT_TRUE(found.has_value()) << (found ? "" : found.error().message);
    EXPECT_TRUE(found->has_value());
    return std::move(**found);
  }

  ScratchRepository scratch_;
};

TEST_F(GitRepositoryTest, ADirectoryWithoutARepositoryHasNone) {
  const auto found = GitRepository::discover(scratch_.path());
  ASSERT_TRUE(found.has_value()) << found.error().message;
  EXPECT_FALSE(found->has_value());
}

TEST_F(GitRepositoryTest, FindsItsWorkTreeAndGitDirectory) {
  git("init -q");
  const auto repository = open();
  EXPECT_EQ(repository.work_tree(), fs::canonical(scratch_.path()).string());
  EXPECT_EQ(repository.git_directory(), fs::canonical(scratch_.path()).string() + "/.git");
}

TEST_F(GitRepositoryTest, ReportsWhetherAnythingBelowAPathIsTracked) {
  git("init -q");
  write("sub/dir/file", "x\n");
  write("dirt", "x\n");
  git("add -A");
  EXPECT_TRUE(*open().tracks_below(path_of("sub")));
  EXPECT_TRUE(*open("/sub").tracks_below(path_of("dir")));
  EXPECT_FALSE(*open().tracks_below(path_of("dir")));
  EXPECT_FALSE(*open().tracks_below(path_of("dirt")));
}

TEST_F(GitRepositoryTest, HarmlessExtensionsAreRead) {
  git("init -q");
  git("config core.repositoryformatversion 1");
  git("config extensions.worktreeConfig true");
  git("config extensions.partialClone origin");
  EXPECT_TRUE(GitRepository::discover(scratch_.path()).has_value());
}

TEST_F(GitRepositoryTest, OtherExtensionsAreRefusedByName) {
  git("init -q --object-format=sha256");
  const auto found = GitRepository::discover(scratch_.path());
  ASSERT_FALSE(found.has_value());
  EXPECT_EQ(found.error().reason, "git.unsupported_extension");
  EXPECT_NE(found.error().message.find("objectformat"), std::string::npos) << found.error().message;
}

TEST_F(GitRepositoryTest, TheRefusalOfARepositoryOfAnotherUserNamesTheRemedy) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  git("init -q");
  ASSERT_EQ(std::system(("chown -R 12345 '" + scratch_.path() + "'").c_str()), 0);
  const auto found = GitRepository::discover(scratch_.path());
  ASSERT_FALSE(found.has_value());
  EXPECT_EQ(found.error().reason, "git.other_owner") << found.error().message;
  EXPECT_NE(found.error().message.find("safe.directory"), std::string::npos);
}

}  // namespace
}  // namespace galley
