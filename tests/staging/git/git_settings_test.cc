#include "staging/git/git_settings.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "staging/git/git_program.h"
#include "support/scratch_repository.h"

namespace galley {
namespace {

using namespace std::string_literals;

std::string listed(const std::string& scope, const std::string& key, const std::string& value) {
  return scope + '\0' + key + '\n' + value + '\0';
}

TEST(GitSettings, ProgramsOfTheRepositoryAreDisabled) {
  const auto settings = program_overrides(
      listed("local", "filter.a=b.clean", "touch x") +
      listed("local", "filter.a=b.required", "true") +
      listed("worktree", "trailer.sign.command", "touch x") +
      listed("local", "core.hookspath", "hooks") + listed("local", "core.sshcommand", "touch x") +
      listed("local", "alias.st", "!touch x") + listed("local", "user.name", "x"));
  ASSERT_TRUE(settings.has_value());
  const std::vector<GitSetting> expected = {
      {"filter.a=b.clean", ""},     {"filter.a=b.required", "false"},
      {"trailer.sign.command", ""}, {"core.hookspath", "/dev/null"},
      {"core.sshcommand", ""},      {"alias.st", ""}};
  EXPECT_EQ(*settings, expected);
}

TEST(GitSettings, AKeyThatIsNotKnownIsDisabled) {
  const auto settings = program_overrides(
      listed("local", "core.newkey", "touch x") + listed("local", "hook.x.run", "touch x") +
      listed("local", "submodule.x.update", "!touch x") + listed("local", "diff.x.run", "touch x"));
  ASSERT_TRUE(settings.has_value());
  const std::vector<GitSetting> expected = {
      {"core.newkey", ""}, {"hook.x.run", ""}, {"submodule.x.update", ""}, {"diff.x.run", ""}};
  EXPECT_EQ(*settings, expected);
}

TEST(GitSettings, WhatNamesNoProgramIsKept) {
  std::string kept;
  for (const char* key :
       {"core.autocrlf", "core.repositoryFormatVersion", "core.bare", "extensions.worktreeConfig",
        "remote.origin.url", "remote.origin.fetch", "branch.a.b.merge", "user.email",
        "diff.algorithm", "diff.lisp.xfuncname", "merge.conflictStyle", "submodule.lib.url",
        "includeIf.gitdir:~/x/.path", "push.default", "trailer.sign.key", "i18n.commitEncoding"}) {
    kept += listed("local", key, "1");
  }
  const auto settings = program_overrides(kept);
  ASSERT_TRUE(settings.has_value());
  EXPECT_EQ(*settings, std::vector<GitSetting>());
}

TEST(GitSettings, UserSettingsAreKeptExceptFilters) {
  const auto settings = program_overrides(listed("global", "gpg.program", "gpg2") +
                                          listed("system", "core.editor", "vi") +
                                          listed("global", "filter.lfs.clean", "git-lfs clean"));
  ASSERT_TRUE(settings.has_value());
  EXPECT_EQ(*settings, (std::vector<GitSetting>{{"filter.lfs.clean", ""}}));
}

TEST(GitSettings, ATruncatedListIsAnError) {
  EXPECT_EQ(program_overrides("local\0filter.x.clean\ncat"s).error().reason, "git.odd_config");
}

TEST(GitSettings, TheLastSettingDecidesWhetherCommitsAreSigned) {
  EXPECT_FALSE(asks_for_signatures(""));
  const std::string on = listed("global", "commit.gpgsign", "true");
  EXPECT_TRUE(asks_for_signatures(on));
  EXPECT_TRUE(asks_for_signatures("local\0commit.gpgsign\0"s)) << "a key alone is true";
  EXPECT_FALSE(asks_for_signatures(on + listed("local", "commit.gpgsign", "off")));
  EXPECT_TRUE(asks_for_signatures(listed("local", "commit.gpgsign", "1")));
}

/// A repository whose configuration names programs that would leave a mark.
class ArmedRepository : public ::testing::Test {
 protected:
  ArmedRepository() {
    repository_.init();
    repository_.write("a.txt", "one\ntwo\nthree\n");
    repository_.write(".gitattributes", "*.txt filter=a=b\n");
    repository_.commit("first");
    for (const char* word : {"clean", "smudge", "process"}) {
      add("[filter \"a=b\"]\n\t" + std::string(word) + " = " + mark());
    }
  }
  void add(const std::string& lines) const {
    std::ofstream(repository_.path() + "/.git/config", std::ios::app) << lines << '\n';
  }
  [[nodiscard]] std::string mark() const {
    return "\"touch '" + repository_.path() + "/ran'; cat\"";
  }
  [[nodiscard]] bool ran() const { return std::filesystem::exists(repository_.path() + "/ran"); }
  [[nodiscard]] GitProgram git() const {
    return GitProgram::in_other_repository(repository_.path());
  }

  ScratchRepository repository_;
};

TEST_F(ArmedRepository, GitAloneRunsItsFilters) {
  repository_.write("a.txt", "one\ntwo\nfour\n");
  EXPECT_TRUE(repository_.can("add a.txt"));
  EXPECT_TRUE(ran());
}

TEST_F(ArmedRepository, NoFilterRunsWhereGitReadsTheWorkTree) {
  repository_.write("a.txt", "one\ntwo\nfour\n");
  ASSERT_TRUE(git().run({"add", "a.txt"}).has_value());
  ASSERT_TRUE(git().run({"diff-index", "-M", "-C", "--raw", "HEAD", "--"}).has_value());
  EXPECT_FALSE(ran());
}

TEST_F(ArmedRepository, NoTrailerCommandRuns) {
  add("[trailer \"Sign\"]\n\tkey = Sign\n\tifmissing = add\n\tcommand = " + mark());
  ASSERT_TRUE(git().run({"interpret-trailers", "--trailer", "A: b"}, "text\n").has_value());
  EXPECT_FALSE(ran());
}

TEST_F(ArmedRepository, ProgramsOfAnIncludedConfigurationAreDisabled) {
  repository_.write("more", "[alias]\n\tstate = \"!touch ran\"\n");
  add("[include]\n\tpath = ../more");
  (void)git().try_run({"state"});
  EXPECT_FALSE(ran());
}

// Limit: kMaxConfigTime of staging/git/git_program.h
TEST_F(ArmedRepository, AnIncludedPipeTimesOutWithAnExplanation) {
  ASSERT_EQ(::mkfifo((repository_.path() + "/pipe").c_str(), 0600), 0);
  add("[include]\n\tpath = ../pipe");
  const auto said =
      git().with_bounds({std::chrono::milliseconds(300), 1000}).run({"rev-parse", "HEAD"});
  ASSERT_FALSE(said.has_value());
  EXPECT_EQ(said.error().reason, "git.timeout");
  EXPECT_NE(said.error().message.find("config include a pipe"), std::string::npos);
}

TEST_F(ArmedRepository, AConfigurationThatCannotBeListedRunsNothing) {
  add("[diff]\n\texternal = " + mark() + "\n[broken");
  const auto said = git().run({"rev-parse", "HEAD"});
  ASSERT_FALSE(said.has_value());
  EXPECT_EQ(said.error().reason, "git.failed");
  EXPECT_NE(said.error().message.find("bad config line"), std::string::npos)
      << said.error().message;
  EXPECT_FALSE(ran());
}

TEST_F(ArmedRepository, APipeAsIgnoreFileDoesNotBlock) {
  ASSERT_EQ(::mkfifo((repository_.path() + "/pipe").c_str(), 0600), 0);
  add("[core]\n\texcludesFile = pipe\n\tattributesFile = pipe");
  EXPECT_TRUE(git().run({"ls-files", "--others", "--exclude-standard"}).has_value());
}

TEST_F(ArmedRepository, GraftsHideNoCommit) {
  ScratchRepository grafted;
  grafted.init();
  grafted.write("a", "1\n");
  grafted.commit("first");
  grafted.write("a", "2\n");
  grafted.commit("second");
  grafted.write(".git/info/grafts", grafted.output_of("rev-parse HEAD"));
  ASSERT_EQ(grafted.output_of("rev-list --count HEAD"), "1\n");
  EXPECT_EQ(
      GitProgram::in_other_repository(grafted.path()).run({"rev-list", "--count", "HEAD"}).value(),
      "2\n");
}

TEST_F(ArmedRepository, AWorkTreeThatDoesNotContainTheRepositoryIsRefused) {
  ScratchRepository trusted;
  trusted.init();
  add("[core]\n\tworktree = " + trusted.path());
  const auto layout = git().layout();
  ASSERT_FALSE(layout.has_value());
  EXPECT_EQ(layout.error().kind, ErrorKind::kRefused);
  EXPECT_EQ(layout.error().reason, "git.foreign_work_tree");
}

TEST_F(ArmedRepository, AFolderAboveTheRepositoryIsRefusedAsItsWorkTree) {
  ScratchRepository outer;
  outer.init();
  std::filesystem::create_directories(outer.path() + "/vendor");
  std::filesystem::copy(repository_.path(), outer.path() + "/vendor/inner",
                        std::filesystem::copy_options::recursive);
  std::ofstream(outer.path() + "/vendor/inner/.git/config", std::ios::app)
      << "[core]\n\tworktree = ../../..\n";
  EXPECT_EQ(GitProgram::in_other_repository(outer.path() + "/vendor/inner").layout().error().reason,
            "git.foreign_work_tree");
}

TEST_F(ArmedRepository, LinkedWorktreesAndSubmodulesAreAccepted) {
  repository_.git("worktree add -q linked -b other");
  const auto linked = GitProgram::in_other_repository(repository_.path() + "/linked").layout();
  ASSERT_TRUE(linked.has_value()) << linked.error().message;
  ScratchRepository outer;
  outer.init();
  outer.git("-c protocol.file.allow=always submodule add -q '" + repository_.path() + "' sub");
  const auto submodule = GitProgram::in_other_repository(outer.path() + "/sub").layout();
  ASSERT_TRUE(submodule.has_value()) << submodule.error().message;
}

}  // namespace
}  // namespace galley
