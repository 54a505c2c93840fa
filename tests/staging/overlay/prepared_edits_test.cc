#include "staging/overlay/prepared_edits.h"

#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/parallel.h"
#include "doubles/memory_directory.h"
#include "staging/formats/read_edits.h"
#include "staging/overlay/change_set.h"
#include "staging/overlay/proposal_diff.h"
#include "support/temp_directory.h"

namespace galley {
namespace {

constexpr int kFiles = 3 * static_cast<int>(kMinSharedItems);

std::string name_of(int i) { return "d" + std::to_string(i % 7) + "/f" + std::to_string(i); }

std::string text_of(int i) {
  return "one " + std::to_string(i) + "\ntwo\nthree\nfour " + std::to_string(i) + "\nfive\nsix\n";
}

/// The patch of one file: its second line changes.
std::string patch_of(int i, const std::string& old_line = "two") {
  const std::string name = name_of(i);
  const std::string number = std::to_string(i);
  return "diff --git a/" + name + " b/" + name + "\n--- a/" + name + "\n+++ b/" + name +
         "\n@@ -1,3 +1,3 @@\n one " + number + "\n-" + old_line + "\n+TWO " + number + "\n three\n";
}

class PreparedEditsTest : public ::testing::Test {
 protected:
  PreparedEditsTest() {
    for (int i = 0; i < kFiles; ++i) tree_.write(name_of(i), text_of(i));
  }

  Overlay overlay() { return {tree_.directory(), make_memory_store(), clock_}; }

  static EditOutcome stage(Overlay& overlay, const std::string& document) {
    auto edits = read_unified(document, {});
    EXPECT_TRUE(edits) << edits.error().message;
    auto outcome = stage_edits(overlay, *edits, {});
    EXPECT_TRUE(outcome) << outcome.error().message;
    return *std::move(outcome);
  }

  static std::vector<std::string> failing(const EditOutcome& outcome) {
    std::vector<std::string> paths;
    for (const FileOutcome& file : outcome.files) {
      if (!file.fits()) paths.push_back(file.path);
    }
    return paths;
  }

  TempDirectory tree_;
  SystemClock clock_;
};

TEST_F(PreparedEditsTest, TextBelowAHunkIsLeftOutIfTheIndexLineProvesTheCounts) {
  tree_.write("f", "one\ntwo\n");
  const auto staged = [&](const std::string& index, const std::string& below) {
    Overlay tree = overlay();
    stage(tree, "diff --git a/f b/f\n" + index +
                    "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n" + below);
    const auto text = tree.read(RelPath::parse("f").value());
    return text ? **text : text.error().message;
  };
  const std::string index = "index 814f4a4..99b356d 100644\n";
  EXPECT_EQ(staged(index, "+1 from me\n"), "one\n2\n");
  EXPECT_EQ(staged(index, "+1\n\nOn Monday, B wrote:\n> x\n"), "one\n2\n");
  // A model's counts are often too low.
  EXPECT_EQ(staged("", "+three\n"), "one\n2\nthree\n");
  EXPECT_EQ(staged("index 814f4a4..1111111 100644\n", "+three\n"), "one\n2\nthree\n");
  // A line of a mail below which another text begins.
  EXPECT_EQ(staged("", "--------->8---------\nBye\n"), "one\n2\n");
}

// Each place once had the file searched for another encoding from its start to its end.
TEST(ManyPlaces, TakeLinearTime) {
  constexpr int kPlaces = 400'000;
  std::string before;
  std::string after;
  for (int i = 0; i < kPlaces; ++i) {
    before += "{\"a\":" + std::to_string(i) + "},";
    after += "{\"b\":" + std::to_string(i) + "},";
  }
  const auto workspace = make_memory_directory();
  const auto opened =
      workspace->open_writable_file(*RelPath::parse("f"), OpenMode::kOpenOrCreate, 0644);
  ASSERT_TRUE(opened && (*opened)->write_at(0, before));
  EditSet edits;
  FileEdit& file = edits.files.emplace_back();
  file.path = "f";
  TextEdit& edit = file.text_edits.emplace_back();
  edit.old_text = "\"a\"";
  edit.new_text = "\"b\"";
  edit.replace_all = true;
  SystemClock clock;
  Overlay staged(*workspace, make_memory_store(), clock);
  const auto outcome = stage_edits(staged, edits, {});
  ASSERT_TRUE(outcome);
  ASSERT_TRUE(outcome->is_staged) << describe(*outcome);
  EXPECT_TRUE(**staged.read(*RelPath::parse("f")) == after);
}

TEST_F(PreparedEditsTest, ALargeDocumentHasTheSameResultAsItsFilesOneByOne) {
  std::string document;
  Overlay one_by_one = overlay();
  std::vector<FileOutcome> expected;
  for (int i = 0; i < kFiles; ++i) {
    document += patch_of(i);
    EditOutcome outcome = stage(one_by_one, patch_of(i));
    expected.push_back(outcome.files.at(0));
  }
  Overlay together = overlay();
  const EditOutcome outcome = stage(together, document);
  EXPECT_TRUE(outcome.is_staged);
  ASSERT_EQ(outcome.files.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(outcome.files[i].path, expected[i].path);
    ASSERT_EQ(outcome.files[i].placements.size(), 1U);
    EXPECT_EQ(outcome.files[i].placements[0].id, expected[i].placements[0].id);
    EXPECT_EQ(outcome.files[i].placements[0].line, expected[i].placements[0].line);
  }
  EXPECT_EQ(Proposal::freeze(together).id(), Proposal::freeze(one_by_one).id());
}

TEST_F(PreparedEditsTest, AFileEditedTwiceIsEditedInOrder) {
  std::string document;
  for (int i = 0; i < kFiles; ++i) document += patch_of(i);
  const std::string name = name_of(5);
  document += "diff --git a/" + name + " b/" + name + "\n--- a/" + name + "\n+++ b/" + name +
              "\n@@ -1,3 +1,3 @@\n one 5\n-TWO 5\n+then this\n three\n";
  Overlay staged = overlay();
  EXPECT_TRUE(stage(staged, document).is_staged);
  EXPECT_EQ(**staged.read(rel(name)), "one 5\nthen this\nthree\nfour 5\nfive\nsix\n");
}

TEST_F(PreparedEditsTest, OneFailingFileAmongManyStagesNothingAndIsNamed) {
  std::string document;
  for (int i = 0; i < kFiles; ++i) document += patch_of(i, i == 40 ? "not there" : "two");
  Overlay staged = overlay();
  const EditOutcome outcome = stage(staged, document);
  EXPECT_FALSE(outcome.is_staged);
  EXPECT_EQ(failing(outcome), std::vector<std::string>{name_of(40)});
  EXPECT_EQ(outcome.files.at(40).failures.at(0).reason, "patch.context_not_found");
  EXPECT_TRUE(staged.changes().empty());
}

TEST_F(PreparedEditsTest, ANonFileAmongManyIsRefusedAsWhenAlone) {
  ASSERT_TRUE(tree_.directory().remove_file(rel(name_of(3))));
  ASSERT_TRUE(tree_.directory().make_symlink(rel(name_of(3)), "f10"));
  ASSERT_TRUE(tree_.directory().remove_file(rel(name_of(4))));
  std::string document;
  for (int i = 0; i < kFiles; ++i) document += patch_of(i);
  Overlay staged = overlay();
  const EditOutcome outcome = stage(staged, document);
  EXPECT_EQ(failing(outcome), (std::vector<std::string>{name_of(3), name_of(4)}));
  for (const int i : {3, 4}) {
    Overlay alone = overlay();
    const EditOutcome one = stage(alone, patch_of(i));
    ASSERT_TRUE(one.files.at(0).refusal);
    EXPECT_EQ(outcome.files.at(static_cast<size_t>(i)).refusal->message,
              one.files.at(0).refusal->message);
  }
}

TEST_F(PreparedEditsTest, TheDiffOfManyFilesJoinsTheirDiffsInOrder) {
  std::string document;
  for (int i = 0; i < kFiles; ++i) document += patch_of(i);
  Overlay staged = overlay();
  ASSERT_TRUE(stage(staged, document).is_staged);
  const Proposal proposal = Proposal::freeze(staged);
  std::string expected;
  for (const Change& change : proposal.changes()) {
    const auto one = render_diff(Proposal::from({change}, proposal.store()));
    ASSERT_TRUE(one);
    expected += *one;
  }
  const auto whole = render_diff(proposal);
  ASSERT_TRUE(whole);
  EXPECT_EQ(*whole, expected);
}

}  // namespace
}  // namespace galley
