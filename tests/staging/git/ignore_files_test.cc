#include "staging/git/ignore_files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <set>

#include "staging/git/git_files.h"
#include "support/scratch_repository.h"
#include "support/temp_directory.h"

namespace galley {
namespace {

namespace fs = std::filesystem;

/// Trees of ignore files, judged by git and by us.
class IgnoreFilesTest : public ::testing::Test {
 protected:
  IgnoreFilesTest() {
    home_.write(".gitconfig", "");
    setenv("HOME", home_.path().c_str(), 1);
    setenv("GIT_CONFIG_NOSYSTEM", "1", 1);
    unsetenv("XDG_CONFIG_HOME");
    unsetenv("GIT_CONFIG_GLOBAL");
    tree_.init();
  }

  /// As the configuration in home_ has it.
  std::set<std::string> by_git(const std::vector<std::string>& paths,
                               const std::string& below = "") {
    std::string input;
    for (const auto& path : paths) input += path + '\0';
    home_.write("input", input);
    const std::string line = "cd " + tree_.path() + "/" + below +
                             " && git check-ignore --no-index -z --stdin <" + home_.path() +
                             "/input >" + home_.path() + "/output; test $? -le 1";
    EXPECT_EQ(std::system(line.c_str()), 0);
    std::set<std::string> ignored;
    const std::string output = home_.read("output");
    for (size_t begin = 0; begin < output.size();) {
      const size_t end = output.find('\0', begin);
      ignored.insert(output.substr(begin, end - begin));
      begin = end + 1;
    }
    return ignored;
  }

  std::set<std::string> by_us(const std::vector<std::string>& paths,
                              const std::string& below = "") {
    auto files = IgnoreFiles::open(fs::canonical(tree_.path() + "/" + below).string());
    EXPECT_TRUE(files.has_value()) << files.error().message;
    std::set<std::string> ignored;
    for (const auto& path : paths) {
      const bool is_directory = path.ends_with('/');
      const auto answer = files->answer(rel(path), is_directory, Deadline(), clock_);
      EXPECT_TRUE(answer.has_value());
      if (answer && *answer == IgnoreAnswer::kIgnored) ignored.insert(path);
    }
    return ignored;
  }

  SystemClock clock_;
  TempDirectory home_;
  ScratchRepository tree_;
};

const std::vector<std::string>& paths() {
  static const std::vector<std::string> kPaths = {
      "a",       "b",       "keep",    "d/a",     "d/b",      "d/keep",    "d/e/a",
      "d/e/b",   "d/e/f/a", "d/e/f/b", "e/a",     "e/d/a",    "e/d/keep",  "out/a",
      "out/d/a", "a.o",     "d/a.o",   "d/e/a.o", "e/keep.o", "d/e/keep.o"};
  return kPaths;
}

TEST_F(IgnoreFilesTest, WithoutARepositoryNothingIsIgnored) {
  TempDirectory plain;
  plain.write(".gitignore", "*\n");
  auto files = IgnoreFiles::open(fs::canonical(plain.path()).string());
  ASSERT_TRUE(files.has_value());
  EXPECT_EQ(*files->answer(rel("a"), false, Deadline(), clock_), IgnoreAnswer::kCounts);
}

TEST_F(IgnoreFilesTest, EverySourceOfRulesIsReadInGitsOrder) {
  tree_.write(".gitignore", "*.o\n!keep.o\n/out/\n");
  tree_.write("d/.gitignore",
              "\xEF\xBB\xBF"
              "b\r\n!a.o\n");
  tree_.write("d/e/.gitignore", "*\n!f/\n!keep.o\n");
  tree_.write(".git/info/exclude", "keep\n!b\n");
  home_.write("excludes", "a\nkeep.o\n");
  home_.write(".gitconfig",
              "[user]\n excludesFile = no\n[Core] ; x\n\tExcludesFile = \"~/excl\"udes # y\n");
  const auto expected = by_git(paths());
  EXPECT_EQ(by_us(paths()), expected);
  EXPECT_TRUE(expected.contains("a") && expected.contains("e/keep.o") == false);
}

TEST_F(IgnoreFilesTest, AWorkspaceBelowTheWorkTreeHasTheRulesAboveIt) {
  tree_.write(".gitignore", "d/a\n*.o\n");
  tree_.write("d/e/x", "");
  const std::vector<std::string> below = {"a", "b", "e/a.o", "e/a"};
  EXPECT_EQ(by_us(below, "d"), by_git(below, "d"));
  EXPECT_EQ(by_us(below, "d"), (std::set<std::string>{"a", "e/a.o"}));
}

TEST_F(IgnoreFilesTest, AWorktreeHasTheExcludesOfItsRepository) {
  tree_.git("commit -q --allow-empty -m x");
  tree_.git("worktree add -q linked");
  tree_.write(".git/info/exclude", "a\n");
  EXPECT_EQ(by_us({"a", "b"}, "linked"), by_git({"a", "b"}, "linked"));
  EXPECT_EQ(by_us({"a", "b"}, "linked"), (std::set<std::string>{"a"}));
}

TEST_F(IgnoreFilesTest, RandomTreesOfIgnoreFilesAgreeWithGit) {
  static const std::vector<std::string> kLines = {
      "a", "b",  "*.o", "!a",  "!b",   "keep", "!keep",  "/a",  "d/",  "!d/",  "d/e",     "!d/e/",
      "*", "!*", "/*",  "!*/", "**/a", "d/**", "!d/e/a", "out", "f/*", "e/**", "!keep.o", "[a-b]"};
  uint64_t state = 7;
  const auto next = [&state](size_t bound) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<size_t>(state >> 33U) % bound;
  };
  for (const std::string& path : paths()) tree_.write(path, "");
  for (int round = 0; round < 120; ++round) {
    std::string shown;
    for (const char* file :
         {".gitignore", "d/.gitignore", "d/e/.gitignore", "e/.gitignore", ".git/info/exclude"}) {
      std::string text;
      for (size_t i = next(4); i > 0; --i) text += kLines[next(kLines.size())] + "\n";
      tree_.write(file, text);
      shown += std::string(file) + ":\n" + text;
    }
    EXPECT_EQ(by_us(paths()), by_git(paths())) << shown;
  }
}

TEST_F(IgnoreFilesTest, AnIgnoreFileThatIsNotARegularFileIsSkipped) {
  ASSERT_EQ(mkfifo((home_.path() + "/fifo").c_str(), 0600), 0);
  home_.write(".gitconfig", "[core]\nexcludesFile = ~/fifo\n");
  ASSERT_EQ(mkfifo((tree_.path() + "/.gitignore").c_str(), 0600), 0);
  ASSERT_EQ(std::remove((tree_.path() + "/.git/info/exclude").c_str()), 0);
  ASSERT_EQ(mkfifo((tree_.path() + "/.git/info/exclude").c_str(), 0600), 0);
  EXPECT_EQ(by_us(paths()), std::set<std::string>());
}

/// The forms in which git writes an index.
class TrackedFiles : public IgnoreFilesTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(TrackedFiles, AreNotIgnoredByAnyFormOfTheIndex) {
  const std::string form = GetParam();
  ScratchRepository tree;
  tree.init(form == "sha256" ? "-b main --object-format=sha256" : "-b main");
  tree.write(".gitignore", "dist/\n*.o\n");
  tree.write("dist/" + std::string(5000, 'n').substr(0, 200) + "/app.js", "a");
  tree.write("dist/new.js", "n");
  tree.write("dist-other", "o");
  tree.write("out/only.js", "o");
  tree.write("a.o", "a");
  tree.write("b.o", "b");
  tree.git("add .");
  tree.git("add -f dist/" + std::string(200, 'n') + " a.o");
  for (int i = 0; i < 200; ++i) tree.write("dist/many/" + std::to_string(i), "m");
  tree.git("add -f dist/many");
  if (form == "2" || form == "4") tree.git("update-index --index-version " + form);
  if (form == "3") tree.git("add -N dist-other && git update-index --skip-worktree a.o");
  if (form == "split") {
    tree.git("update-index --split-index");
    tree.write("dist/later.js", "l");
    tree.git("add -f dist/later.js");
    tree.git("rm -q --cached dist/many/17 dist/many/1[0-4]?");
  }
  auto files = IgnoreFiles::open(fs::canonical(tree.path()).string());
  ASSERT_TRUE(files.has_value());
  const auto answer = [&](const std::string& path, bool is_directory) {
    return *files->answer(rel(path), is_directory, Deadline(), clock_);
  };
  const std::string folder = "dist/" + std::string(200, 'n');
  EXPECT_EQ(answer("dist", true), IgnoreAnswer::kHoldsTracked);
  EXPECT_EQ(answer(folder, true), IgnoreAnswer::kHoldsTracked);
  EXPECT_EQ(answer(folder + "/app.js", false), IgnoreAnswer::kCounts);
  EXPECT_EQ(answer("a.o", false), IgnoreAnswer::kCounts);
  EXPECT_EQ(answer("b.o", false), IgnoreAnswer::kIgnored);
  EXPECT_EQ(answer("dist/new.js", false), IgnoreAnswer::kIgnored);
  EXPECT_EQ(answer("out/dist", true), IgnoreAnswer::kIgnored);
  const auto later = form == "split" ? IgnoreAnswer::kCounts : IgnoreAnswer::kIgnored;
  EXPECT_EQ(answer("dist/later.js", false), later);
  const auto deleted = form == "split" ? IgnoreAnswer::kIgnored : IgnoreAnswer::kCounts;
  for (const char* name : {"17", "100", "139", "149"}) {
    EXPECT_EQ(answer(std::string("dist/many/") + name, false), deleted) << name;
  }
  for (const char* name : {"16", "18", "99", "150", "199"}) {
    EXPECT_EQ(answer(std::string("dist/many/") + name, false), IgnoreAnswer::kCounts) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Index, TrackedFiles, ::testing::Values("2", "3", "4", "split", "sha256"));

TEST_F(IgnoreFilesTest, ARepositoryBelowHasItsOwnIndex) {
  for (const std::string folder : {"nest", "nest/nest", "dist/nest"}) {
    tree_.write(folder + "/o/t", "t");
    tree_.write(folder + "/.gitignore", "o/\n");
    const std::string here = "-C " + folder + " ";
    tree_.git(here + "init -q");
    tree_.git(here + "add -f .gitignore o/t");
    tree_.write(folder + "/o/u", "u");
  }
  tree_.write(".gitignore", "dist/\n");
  auto files = IgnoreFiles::open(fs::canonical(tree_.path()).string());
  ASSERT_TRUE(files.has_value());
  const auto answer = [&](const std::string& path, bool is_directory) {
    return *files->answer(rel(path), is_directory, Deadline(), clock_);
  };
  for (const std::string folder : {"nest", "nest/nest"}) {
    EXPECT_EQ(answer(folder, true), IgnoreAnswer::kCounts);
    EXPECT_EQ(answer(folder + "/o", true), IgnoreAnswer::kHoldsTracked);
    EXPECT_EQ(answer(folder + "/o/t", false), IgnoreAnswer::kCounts);
    EXPECT_EQ(answer(folder + "/o/u", false), IgnoreAnswer::kIgnored);
  }
  EXPECT_EQ(answer("dist/nest", true), IgnoreAnswer::kIgnored);
  EXPECT_EQ(answer("dist/nest/o/t", false), IgnoreAnswer::kIgnored);
}

TEST_F(IgnoreFilesTest, AnIndexThatCannotBeReadTracksNothing) {
  tree_.write(".gitignore", "*.o\n");
  tree_.write("a.o", "a");
  tree_.git("add -f a.o");
  const std::string index = tree_.read(".git/index");
  for (size_t size = 0; size < index.size(); size += 7) {
    tree_.write(".git/index", index.substr(0, size));
    EXPECT_EQ(by_us({"a.o"}).size(), size < index.size() - 20 ? 1U : 0U) << size;
  }
}

TEST_F(IgnoreFilesTest, APassedDeadlineEndsTheMatching) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += "*x" + std::to_string(i) + "\n";
  tree_.write(".gitignore", text);
  auto files = IgnoreFiles::open(fs::canonical(tree_.path()).string());
  ASSERT_TRUE(files.has_value());
  const Deadline over = Deadline::after(clock_, std::chrono::milliseconds(-1));
  const auto answer = files->answer(rel("a"), false, over, clock_);
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().kind, ErrorKind::kTimeout);
}

TEST(ExcludesFile, IsReadAsGitReadsItsConfiguration) {
  const auto excludes_file_in = [](std::string_view git_config) {
    return git_value_in(git_config, "core", "excludesfile").value_or("");
  };
  EXPECT_EQ(excludes_file_in("[core]\nexcludesfile=/a b \n"), "/a b");
  EXPECT_EQ(excludes_file_in("[core] excludesFile = \"/a # b\" ; c\n"), "/a # b");
  EXPECT_EQ(excludes_file_in("[core \"x\"]\nexcludesfile = /a\n"), "");
  EXPECT_EQ(excludes_file_in("excludesfile = /a\n[core\nexcludesfile"), "");
  EXPECT_EQ(excludes_file_in("[core]\nexcludesfile=/a\n[x]\n[core]\nexcludesfile=/b\\\\c"),
            "/b\\c");
}

}  // namespace
}  // namespace galley
