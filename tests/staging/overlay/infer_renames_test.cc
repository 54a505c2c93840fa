#include "staging/overlay/staged_step.h"

#include <gtest/gtest.h>

#include "base/clock.h"
#include "support/temp_directory.h"

namespace galley {
namespace {

class InferRenames : public ::testing::Test {
 protected:
  InferRenames() {
    tree_.write("a.txt", "one\ntwo\nthree\nfour\n");
    tree_.write("d/b.txt", "bee\n");
  }

  void write(const std::string& path, const std::string& text) {
    ASSERT_TRUE(overlay_.write(rel(path), text)) << path;
  }
  void remove(const std::string& path) { ASSERT_TRUE(overlay_.remove(rel(path))) << path; }
  /// Changes that were staged before are visible to the command.
  void begin_command() { before_ = overlay_.entries(); }

  /// "new <= old" for each rename of the change set.
  std::vector<std::string> renames() {
    EXPECT_TRUE(infer_renames(before_, overlay_));
    std::vector<std::string> found;
    for (const Change& change : overlay_.changes()) {
      if (change.renamed_from) {
        found.push_back(change.path.str() + " <= " + change.renamed_from->str());
      }
    }
    return found;
  }

  using Lines = std::vector<std::string>;
  TempDirectory tree_;
  SystemClock clock_;
  Overlay overlay_{tree_.directory(), make_memory_store(), clock_};
  Overlay::Entries before_;
};

TEST_F(InferRenames, EqualContentsAreARename) {
  remove("a.txt");
  write("new/a.txt", "one\ntwo\nthree\nfour\n");
  EXPECT_EQ(renames(), Lines{"new/a.txt <= a.txt"});
}

TEST_F(InferRenames, SimilarContentsAreARename) {
  remove("a.txt");
  write("c.txt", "one\ntwo\nthree\nfive\n");
  EXPECT_EQ(renames(), Lines{"c.txt <= a.txt"});
}

TEST_F(InferRenames, DifferentContentsAreNotARename) {
  remove("a.txt");
  write("c.txt", "something else\n");
  EXPECT_EQ(renames(), Lines{});
}

TEST_F(InferRenames, AnEditedFileThatACommandMovesComesFromTheWorkspaceName) {
  write("a.txt", "entirely\ndifferent\n");
  begin_command();
  remove("a.txt");
  write("c.txt", "entirely\ndifferent\n");
  EXPECT_EQ(renames(), Lines{"c.txt <= a.txt"});
}

TEST_F(InferRenames, AMovedFileThatACommandMovesAgainKeepsItsOrigin) {
  ASSERT_TRUE(overlay_.move(rel("a.txt"), rel("middle.txt")));
  begin_command();
  remove("middle.txt");
  write("last.txt", "one\ntwo\nthree\nfour\n");
  EXPECT_EQ(renames(), Lines{"last.txt <= a.txt"});
}

TEST_F(InferRenames, AFileThatWasStagedAsNewHasNoOrigin) {
  write("draft.txt", "only staged\n");
  begin_command();
  remove("draft.txt");
  write("final.txt", "only staged\n");
  EXPECT_EQ(renames(), Lines{});
}

TEST_F(InferRenames, AFileRemovedBeforeTheCommandIsNotASource) {
  remove("a.txt");
  begin_command();
  write("c.txt", "one\ntwo\nthree\nfour\n");
  EXPECT_EQ(renames(), Lines{});
}

TEST_F(InferRenames, TwoFilesThatSwapContentsAreNotARename) {
  write("a.txt", "bee\n");
  write("d/b.txt", "one\ntwo\nthree\nfour\n");
  EXPECT_EQ(renames(), Lines{});
}

// Limit: kMaxInferredRenameBytes of staging/overlay/staged_step.h
TEST_F(InferRenames, LargeFilesAreComparedWholeOnly) {
  const std::string text(kMaxInferredRenameBytes / 2, 'x');
  tree_.write("large", text + "\n");
  tree_.write("other", text + "other\n");
  remove("large");
  remove("other");
  write("large2", text + "\n");
  write("other2", text + "another\n");
  EXPECT_EQ(renames(), Lines{"large2 <= large"});
}

}  // namespace
}  // namespace galley
