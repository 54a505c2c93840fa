#include "staging/git/merged_tree.h"

#include <gtest/gtest.h>

#include <string>

#include "support/rel.h"
#include "support/scratch_repository.h"

namespace galley {
namespace {

class MergedTreeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    scratch_.init();
    scratch_.write("both", "1\n2\n3\n4\n5\n6\n7\n");
    scratch_.write("deep/er/file", "x\n");
    scratch_.commit("first");
  }
  /// A commit on a branch of its own that leaves from the first one.
  std::string branch(const std::string& name, const std::string& file, std::string_view text) {
    scratch_.git("checkout -q -B " + name + " main");
    scratch_.write(file, text);
    scratch_.commit(name);
    return id_of(name);
  }
  std::string id_of(const std::string& revision) {
    std::string id = scratch_.output_of("rev-parse " + revision);
    while (id.ends_with('\n')) id.pop_back();
    return id;
  }
  std::string show(const std::string& tree, const std::string& path) {
    return scratch_.output_of("show " + tree + ":" + path);
  }

  ScratchRepository scratch_;
  GitProgram git_{scratch_.path()};
};

TEST_F(MergedTreeTest, ContainsTheChangesOfEverySide) {
  const std::string a = branch("a", "both", "ONE\n2\n3\n4\n5\n6\n7\n");
  const std::string b = branch("b", "both", "1\n2\n3\n4\n5\n6\nSEVEN\n");
  const std::string c = branch("c", "new", "c\n");
  const auto merged = merged_tree(git_, {a, b, c}).value();
  ASSERT_TRUE(merged.has_value());
  EXPECT_TRUE(merged->conflicts.empty());
  EXPECT_EQ(show(merged->tree, "both"), "ONE\n2\n3\n4\n5\n6\nSEVEN\n");
  EXPECT_EQ(show(merged->tree, "new"), "c\n");
}

TEST_F(MergedTreeTest, ACommitMergedWithItsAncestorIsUnchanged) {
  const std::string a = branch("a", "new", "a\n");
  const auto merged = merged_tree(git_, {id_of("main"), a, a}).value();
  ASSERT_TRUE(merged.has_value());
  EXPECT_EQ(merged->tree, id_of("a^{tree}"));
}

TEST_F(MergedTreeTest, ReportsConflictsWithTheFileOfEachSide) {
  const std::string a = branch("a", "deep/er/file", "a\n");
  const std::string b = branch("b", "deep/er/file", "b\n");
  const auto merged = merged_tree(git_, {a, b}).value();
  ASSERT_TRUE(merged.has_value());
  ASSERT_EQ(merged->conflicts.size(), 1U);
  const auto& sides = merged->conflicts.at("deep/er/file");
  ASSERT_EQ(sides.size(), 2U);
  EXPECT_EQ(sides[0], (MergeEntry{"100644", id_of("a:deep/er/file")}));
  EXPECT_EQ(sides[1], (MergeEntry{"100644", id_of("b:deep/er/file")}));
  EXPECT_EQ(scratch_.output_of("status --porcelain"), "") << "the work tree is left alone";
}

TEST_F(MergedTreeTest, FilesOfCommitsAreComparedByTheirContent) {
  const std::string a = branch("a", "new", "a\n");
  const auto trees = std::make_shared<const GitTrees>(std::make_shared<const GitObjects>(git_));
  EXPECT_TRUE(have_same_file(trees, "main", a, rel("both")).value());
  EXPECT_FALSE(have_same_file(trees, "main", a, rel("new")).value());
  EXPECT_TRUE(have_same_file(trees, "main", a, rel("in/neither")).value());
}

}  // namespace
}  // namespace galley
