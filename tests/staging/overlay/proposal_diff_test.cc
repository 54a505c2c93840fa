#include "staging/overlay/proposal_diff.h"

#include <gtest/gtest.h>

#include <string>

#include "staging/overlay/overlay.h"
#include "staging/printing/git_diff.h"
#include "support/git_oracle.h"
#include "support/temp_directory.h"

namespace galley {
namespace {

std::string numbered(int first, int last) {
  std::string text;
  for (int i = first; i <= last; ++i) text += "line " + std::to_string(i) + "\n";
  return text;
}

class ProposalDiffTest : public ::testing::Test {
 protected:
  ProposalDiffTest() {
    tree_.write("a.txt", numbered(1, 20));
    tree_.write("run.sh", "#!/bin/sh\nexit 0\n", 0755);
    tree_.write("src/one.c", "int main() {\n  return 1;\n}");
    tree_.write("src/crlf.txt", "a\r\nb\r\nc\r\n");
    tree_.write("bin", std::string("\0\1\2", 3));
    tree_.write("empty", "");
    tree_.write("sp ace/\xc3\xa9.txt", "x\n");
    EXPECT_TRUE(tree_.directory().make_symlink(rel("link"), "a.txt"));
  }

  // The printed diff, given to git on a copy of the base, makes the tree the proposal speaks of.
  void expect_git_agrees() {
    const auto text = render_diff(Proposal::freeze(overlay_));
    ASSERT_TRUE(text) << text.error().message;
    const auto base = testing::read_tree(tree_.path());
    testing::Tree wanted = base;
    for (const auto& change : overlay_.changes()) {
      wanted.erase(change.path.str());
      if (change.after.kind == FileKind::kSymlink) {
        wanted[change.path.str()] = {git_mode::kSymlink, *overlay_.read_link(change.path)};
      } else if (change.after.kind == FileKind::kRegular) {
        wanted[change.path.str()] = {
            (change.after.mode & 0100U) != 0 ? git_mode::kExecutable : git_mode::kRegular,
            **overlay_.read(change.path)};
      }
    }
    const TempDirectory copy;
    testing::write_tree(copy.path() + "/w", base);
    testing::write_bytes(copy.path() + "/p", *text);
    const auto run = testing::run_in(copy.path() + "/w", "git apply --whitespace=nowarn ../p");
    ASSERT_EQ(run.status, 0) << run.output << *text;
    EXPECT_EQ(testing::read_tree(copy.path() + "/w"), wanted) << *text;
  }
  std::string status() {
    const auto diffs = summarize_proposal(Proposal::freeze(overlay_));
    EXPECT_TRUE(diffs) << diffs.error().message;
    return name_status(*diffs);
  }

  TempDirectory tree_;
  SystemClock clock_;
  Overlay overlay_{tree_.directory(), make_memory_store(), clock_};
};

TEST_F(ProposalDiffTest, AnEmptyProposalPrintsNothing) {
  EXPECT_EQ(*render_diff(Proposal::freeze(overlay_)), "");
}

TEST_F(ProposalDiffTest, EveryKindOfChangeIsAppliedByGit) {
  ASSERT_TRUE(overlay_.write(rel("a.txt"), numbered(1, 9) + "new\n" + numbered(11, 20)));
  ASSERT_TRUE(overlay_.write(rel("src/one.c"), "int main() {\n  return 2;\n}\n"));
  ASSERT_TRUE(overlay_.write(rel("src/crlf.txt"), "a\r\nB\r\nc\r\n"));
  ASSERT_TRUE(overlay_.write(rel("bin"), std::string("\0\1\2\3", 4)));
  ASSERT_TRUE(overlay_.write(rel("new/deep/file"), "fresh\n"));
  ASSERT_TRUE(overlay_.write(rel("new/empty"), ""));
  ASSERT_TRUE(overlay_.remove(rel("empty")));
  ASSERT_TRUE(overlay_.remove(rel("sp ace/\xc3\xa9.txt")));
  ASSERT_TRUE(overlay_.set_mode(rel("run.sh"), 0644));
  ASSERT_TRUE(overlay_.remove(rel("link")));
  ASSERT_TRUE(overlay_.write(rel("link"), "now a file\n"));
  expect_git_agrees();
}

TEST_F(ProposalDiffTest, AMovedFileIsARename) {
  ASSERT_TRUE(overlay_.move(rel("a.txt"), rel("moved/b.txt")));
  EXPECT_EQ(status(), "R100\ta.txt\tmoved/b.txt\n");
  expect_git_agrees();
  ASSERT_TRUE(overlay_.write(rel("moved/b.txt"), numbered(1, 19) + "changed\n"));
  expect_git_agrees();
  EXPECT_EQ(status().substr(0, 2), "R0");
}

TEST_F(ProposalDiffTest, ARenameIsFoundBySimilarity) {
  ASSERT_TRUE(overlay_.remove(rel("a.txt")));
  ASSERT_TRUE(overlay_.write(rel("z.txt"), numbered(1, 20) + "more\n"));
  EXPECT_EQ(status().substr(0, 2), "R0");
  expect_git_agrees();
  ProposalDiffOptions options;
  options.find_renames = false;
  EXPECT_EQ(name_status(*summarize_proposal(Proposal::freeze(overlay_), options)),
            "D\ta.txt\nA\tz.txt\n");
}

TEST_F(ProposalDiffTest, ASwapOfTwoFilesIsAppliedByGit) {
  ASSERT_TRUE(overlay_.move(rel("a.txt"), rel("t")));
  ASSERT_TRUE(overlay_.move(rel("src/one.c"), rel("a.txt")));
  ASSERT_TRUE(overlay_.move(rel("t"), rel("src/one.c")));
  expect_git_agrees();
}

TEST_F(ProposalDiffTest, ARenameWithAReplacedSourceIsAppliedByGit) {
  ASSERT_TRUE(overlay_.move(rel("a.txt"), rel("b.txt")));
  ASSERT_TRUE(overlay_.write(rel("a.txt"), "replaced\n"));
  expect_git_agrees();
}

TEST_F(ProposalDiffTest, ACopyIsAppliedByGit) {
  ASSERT_TRUE(overlay_.copy(rel("a.txt"), rel("c1.txt")));
  ASSERT_TRUE(overlay_.copy(rel("a.txt"), rel("c2.txt")));
  ASSERT_TRUE(overlay_.move(rel("a.txt"), rel("m.txt")));
  expect_git_agrees();
}

TEST_F(ProposalDiffTest, AModeChangeThatGitDoesNotRecordIsNotShown) {
  ASSERT_TRUE(overlay_.set_mode(rel("a.txt"), 0600));
  EXPECT_EQ(*render_diff(Proposal::freeze(overlay_)), "");
}

TEST_F(ProposalDiffTest, AnUnchangedContentIsNotRead) {
  ASSERT_TRUE(overlay_.set_mode(rel("a.txt"), 0755));
  ASSERT_TRUE(overlay_.move(rel("bin"), rel("moved")));
  const auto kept_nowhere = Proposal::from(overlay_.changes(), make_memory_store());
  const auto text = render_diff(kept_nowhere);
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_EQ(*text, *render_diff(Proposal::freeze(overlay_)));
  EXPECT_NE(text->find("similarity index 100%"), std::string::npos);
}

TEST_F(ProposalDiffTest, AFileInPlaceOfADirectoryIsAppliedByGit) {
  ASSERT_TRUE(overlay_.remove_tree(rel("src")));
  ASSERT_TRUE(overlay_.write(rel("src"), "no directory any more\n"));
  expect_git_agrees();
}

TEST_F(ProposalDiffTest, TheStreamedDiffEqualsTheWholeDiff) {
  ASSERT_TRUE(overlay_.write(rel("a.txt"), "1\n"));
  ASSERT_TRUE(overlay_.write(rel("b.txt"), "2\n"));
  const auto proposal = Proposal::freeze(overlay_);
  std::string streamed;
  ASSERT_TRUE(render_diff(proposal, {}, [&](std::string_view text) { streamed += text; }));
  EXPECT_EQ(streamed, *render_diff(proposal));
  const auto diffs = diff_proposal(proposal);
  ASSERT_EQ(diffs->size(), 2u);
  EXPECT_EQ((*diffs)[0].diff.counts, (LineCounts{20, 1}));
  EXPECT_EQ(*(*diffs)[0].after, "1\n");
}

}  // namespace
}  // namespace galley
