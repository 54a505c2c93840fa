#include "staging/text/merge.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "support/git_oracle.h"
#include "support/scratch_directory.h"

namespace galley {
namespace {

struct Texts {
  std::string base;
  std::string ours;
  std::string theirs;
};

Merge merge_of(const Texts& texts) {
  return merge_lines(Lines(texts.base), Lines(texts.ours), Lines(texts.theirs));
}

std::string marked(const Texts& texts, ConflictStyle style = ConflictStyle::kMerge) {
  const Lines base(texts.base);
  const Lines ours(texts.ours);
  const Lines theirs(texts.theirs);
  ConflictMarkers markers;
  markers.style = style;
  return text_with_markers(merge_lines(base, ours, theirs), base, ours, theirs, markers);
}

std::string random_lines(std::mt19937& random, size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i) {
    text += random() % 6 == 0 ? "\n" : "line " + std::to_string(random() % 200) + "\n";
  }
  return text;
}

std::string edited(std::mt19937& random, const std::string& base) {
  const Lines lines(base);
  std::string text;
  for (size_t i = 0; i < lines.size(); ++i) {
    switch (random() % 16) {
      case 0:
        break;
      case 1:
        text += "added " + std::to_string(random() % 6) + "\n";
        [[fallthrough]];
      default:
        text += lines[i];
    }
  }
  if (random() % 8 == 0 && !text.empty()) text.pop_back();
  return text;
}

TEST(Merge, ChangesApartMergeCleanly) {
  const Texts texts{"1\n2\n3\n4\n5\n", "one\n2\n3\n4\n5\n", "1\n2\n3\n4\nfive\n"};
  const auto merge = merge_of(texts);
  EXPECT_TRUE(merge.is_clean());
  EXPECT_EQ(merged_text(merge, Lines(texts.base), Lines(texts.ours), Lines(texts.theirs)),
            "one\n2\n3\n4\nfive\n");
}

TEST(Merge, TouchingChangesConflictAndNameTheirLines) {
  const auto merge = merge_of({"1\n2\n3\n4\n", "1\nX\n3\n4\n", "1\n2\nY\n4\n"});
  ASSERT_EQ(merge.conflicts, 1u);
  EXPECT_EQ(merge.pieces[1], (MergePiece{MergeSide::kConflict, {1, 3}, {1, 3}, {1, 3}}));
}

TEST(Merge, ChangesWithOneLineBetweenMergeCleanly) {
  EXPECT_TRUE(merge_of({"1\n2\n3\n4\n5\n", "1\nX\n3\n4\n5\n", "1\n2\n3\nY\n5\n"}).is_clean());
}

TEST(Merge, TheSameChangeOnBothSidesIsNotAConflict) {
  const auto merge = merge_of({"1\n2\n", "1\nX\n", "1\nX\n"});
  EXPECT_TRUE(merge.is_clean());
  EXPECT_EQ(merge.pieces.back().side, MergeSide::kBoth);
}

TEST(Merge, MarkersNameTheSidesAndKeepCrLf) {
  EXPECT_EQ(marked({"a\r\nb\r\n", "a\r\nX\r\n", "a\r\nY\r\n"}, ConflictStyle::kDiff3),
            "a\r\n<<<<<<< ours\r\nX\r\n||||||| base\r\nb\r\n=======\r\nY\r\n>>>>>>> theirs\r\n");
  EXPECT_EQ(marked({"", "X", "Y"}), "<<<<<<< ours\nX\n=======\nY\n>>>>>>> theirs\n");
}

TEST(Merge, PiecesCoverEveryLineOnceOverRandomTexts) {
  std::mt19937 random(17);
  for (int round = 0; round < 2000; ++round) {
    const auto base = random_lines(random, random() % 30);
    const Texts texts{base, edited(random, base), edited(random, base)};
    LineRange base_at;
    LineRange ours_at;
    LineRange theirs_at;
    for (const auto& piece : merge_of(texts).pieces) {
      ASSERT_EQ(piece.base.begin, base_at.end);
      ASSERT_EQ(piece.ours.begin, ours_at.end);
      ASSERT_EQ(piece.theirs.begin, theirs_at.end);
      base_at = piece.base;
      ours_at = piece.ours;
      theirs_at = piece.theirs;
    }
    ASSERT_EQ(base_at.end, Lines(texts.base).size());
    ASSERT_EQ(ours_at.end, Lines(texts.ours).size());
    ASSERT_EQ(theirs_at.end, Lines(texts.theirs).size());
  }
}

TEST(Merge, MergingWithTheBaseGivesTheOtherSide) {
  std::mt19937 random(19);
  for (int round = 0; round < 500; ++round) {
    const auto base = random_lines(random, random() % 30);
    const auto other = edited(random, base);
    EXPECT_EQ(marked({base, other, base}), other);
    EXPECT_EQ(marked({base, base, other}), other);
    EXPECT_EQ(marked({base, other, other}), other);
  }
}

// 200 merges, clean and conflicting, printed by git merge-file in one shell.
TEST(Merge, EqualsGitMergeFileOverRandomTexts) {
  std::mt19937 random(23);
  const ScratchDirectory scratch;
  std::vector<Texts> cases;
  for (int i = 0; i < 200; ++i) {
    const auto base = random_lines(random, 5 + random() % 60);
    cases.push_back({base, edited(random, base), edited(random, base)});
    const auto stem = scratch.path() + "/" + std::to_string(i);
    testing::write_bytes(stem + ".base", cases.back().base);
    testing::write_bytes(stem + ".ours", cases.back().ours);
    testing::write_bytes(stem + ".theirs", cases.back().theirs);
  }
  const auto run = testing::run_in(
      scratch.path(),
      "i=0; while [ $i -lt 200 ]; do "
      "git merge-file -p -L ours -L base -L theirs $i.ours $i.base $i.theirs > $i.merge; "
      "git merge-file -p --diff3 -L ours -L base -L theirs $i.ours $i.base $i.theirs > $i.diff3; "
      "i=$((i+1)); done");
  ASSERT_EQ(run.status, 0) << run.output;
  int clean = 0;
  for (int i = 0; i < 200; ++i) {
    const auto stem = scratch.path() + "/" + std::to_string(i);
    const auto& texts = cases[static_cast<size_t>(i)];
    EXPECT_EQ(marked(texts), testing::read_bytes(stem + ".merge")) << i;
    EXPECT_EQ(marked(texts, ConflictStyle::kDiff3), testing::read_bytes(stem + ".diff3")) << i;
    if (merge_of(texts).is_clean()) ++clean;
  }
  EXPECT_GT(clean, 20);
  EXPECT_LT(clean, 180);
}

}  // namespace
}  // namespace galley
