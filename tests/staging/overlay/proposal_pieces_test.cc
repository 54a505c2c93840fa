#include "staging/overlay/proposal_pieces.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>

#include "engine/pipeline/workspace_state.h"
#include "staging/overlay/overlay.h"
#include "support/temp_directory.h"

namespace galley {
namespace {

using ::testing::ElementsAre;

class PiecesTest : public ::testing::Test {
 protected:
  PiecesTest() {
    tree_.write("long.txt", lines(1, 40));
    tree_.write("gone/a", "a\n");
    tree_.write("gone/b", "b\n");
    tree_.write("kind/inner", "i\n");
    tree_.write("kind/deep/er", "e\n");
    tree_.write("old.txt", "moved\n");
    tree_.write("bin", std::string("\0\1\2", 3));
  }

  static std::string lines(int from, int to) {
    std::string text;
    for (int i = from; i <= to; ++i) text += "line " + std::to_string(i) + "\n";
    return text;
  }
  static std::string with_line(std::string text, int number, const std::string& fresh) {
    const std::string old = "line " + std::to_string(number) + "\n";
    const size_t at = text.find(old);
    return text.replace(at, old.size(), fresh);
  }

  /// One change of every kind.
  void propose_everything() {
    std::string text = with_line(lines(1, 40), 2, "second\n");
    text = with_line(std::move(text), 20, "");
    text = with_line(std::move(text), 40, "line 40\nlast\n");
    ASSERT_TRUE(overlay_.write(rel("long.txt"), text));
    ASSERT_TRUE(overlay_.set_mode(rel("long.txt"), 0755));
    ASSERT_TRUE(overlay_.remove_tree(rel("gone")));
    ASSERT_TRUE(overlay_.remove_tree(rel("kind")));
    ASSERT_TRUE(overlay_.write(rel("kind"), "a file now\n"));
    ASSERT_TRUE(overlay_.move(rel("old.txt"), rel("new/place.txt")));
    ASSERT_TRUE(overlay_.write(rel("new/x/y"), "deep\n"));
    ASSERT_TRUE(overlay_.write(rel("bin"), std::string("\0\3", 2)));
    ASSERT_TRUE(overlay_.make_symlink(rel("link"), "long.txt"));
    ASSERT_TRUE(overlay_.make_directory(rel("empty")));
  }
  ProposalPieces split() {
    auto split = ProposalPieces::split(Proposal::freeze(overlay_));
    EXPECT_TRUE(split) << split.error().message;
    return *std::move(split);
  }
  static std::vector<std::string> names(const ProposalPieces& pieces) {
    std::vector<std::string> all;
    for (const ProposalPiece& piece : pieces.pieces()) all.push_back(piece.text());
    return all;
  }
  static std::vector<std::string> paths(const Proposal& proposal) {
    std::vector<std::string> all;
    for (const Change& change : proposal.changes()) all.push_back(change.path.str());
    return all;
  }
  static std::vector<size_t> all_of(const ProposalPieces& pieces) {
    std::vector<size_t> all(pieces.pieces().size());
    std::iota(all.begin(), all.end(), size_t{0});
    return all;
  }
  /// The one piece of this name.
  static std::vector<size_t> one(const ProposalPieces& pieces, const std::string& name) {
    const auto all = names(pieces);
    const auto found = std::find(all.begin(), all.end(), name);
    EXPECT_NE(found, all.end()) << name;
    return {static_cast<size_t>(found - all.begin())};
  }

  TempDirectory tree_;
  SystemClock clock_;
  Overlay overlay_{tree_.directory(), make_memory_store(), clock_};
};

TEST_F(PiecesTest, EveryKindOfChangeIsSplitIntoIndependentPieces) {
  propose_everything();
  EXPECT_THAT(names(split()),
              ElementsAre("bin", "empty", "gone/a", "gone/b", "kind and 3 more paths", "link",
                          "long.txt, mode", "long.txt, hunk 1", "long.txt, hunk 2",
                          "long.txt, hunk 3", "new/place.txt and 1 more path", "new/x/y"));
}

TEST_F(PiecesTest, AllPiecesMakeTheProposalAndNoneMakeAnEmptyOne) {
  propose_everything();
  const ProposalPieces pieces = split();
  EXPECT_EQ(pieces.only(all_of(pieces))->id(), Proposal::freeze(overlay_).id());
  EXPECT_TRUE(pieces.only({})->is_empty());
}

TEST_F(PiecesTest, AHunkAloneLeavesTheOtherLinesAndTheMode) {
  propose_everything();
  const ProposalPieces pieces = split();
  const auto part = pieces.only(one(pieces, "long.txt, hunk 2"));
  ASSERT_THAT(paths(*part), ElementsAre("long.txt"));
  EXPECT_EQ(**part->content(part->changes()[0].after), with_line(lines(1, 40), 20, ""));
  EXPECT_EQ(part->changes()[0].after.mode, 0644U);
  const auto mode = pieces.only(one(pieces, "long.txt, mode"));
  EXPECT_EQ(mode->changes()[0].after.content, mode->changes()[0].before.content);
  EXPECT_EQ(mode->changes()[0].after.mode, 0755U);
}

TEST_F(PiecesTest, DirectoriesAreMadeWithTheFirstAndRemovedWithTheLastPiece) {
  propose_everything();
  const ProposalPieces pieces = split();
  EXPECT_THAT(paths(*pieces.only(one(pieces, "new/x/y"))), ElementsAre("new", "new/x", "new/x/y"));
  EXPECT_THAT(paths(*pieces.only(one(pieces, "gone/a"))), ElementsAre("gone/a"));
  const size_t a = one(pieces, "gone/a")[0];
  EXPECT_THAT(paths(*pieces.only({a, a + 1})), ElementsAre("gone", "gone/a", "gone/b"));
  EXPECT_THAT(paths(*pieces.only(one(pieces, "empty"))), ElementsAre("empty"));
}

TEST_F(PiecesTest, DependentPathsAreOnePiece) {
  propose_everything();
  const ProposalPieces pieces = split();
  EXPECT_THAT(paths(*pieces.only(one(pieces, "new/place.txt and 1 more path"))),
              ElementsAre("new", "new/place.txt", "old.txt"));
  EXPECT_THAT(paths(*pieces.only(one(pieces, "kind and 3 more paths"))),
              ElementsAre("kind", "kind/deep", "kind/deep/er", "kind/inner"));
}

TEST_F(PiecesTest, AnySubsetOfPiecesCanBeStagedOnTheTree) {
  propose_everything();
  const ProposalPieces pieces = split();
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    std::vector<size_t> chosen;
    for (size_t i = 0; i < pieces.pieces().size(); ++i) {
      if ((random() & 1U) != 0) chosen.push_back(i);
    }
    const auto part = pieces.only(chosen);
    ASSERT_TRUE(part);
    std::set<RelPath> made;
    std::set<RelPath> removed;
    for (const Change& change : part->changes()) {
      (change.after.kind == FileKind::kAbsent ? removed : made).insert(change.path);
      if (change.after.kind != FileKind::kAbsent) {
        EXPECT_FALSE(removed.contains(change.path.parent())) << change.path.str();
      }
      // No file is created in a directory that does not exist.
      const auto parent = tree_.directory().stat(change.path.parent());
      const bool is_there = parent && parent->kind == FileKind::kDirectory;
      if (change.is_create()) {
        EXPECT_TRUE(is_there || made.contains(change.path.parent())) << change.path.str();
      }
    }
    // A directory is removed only when nothing stays in it.
    for (const Change& change : part->changes()) {
      if (!change.is_delete() || change.before.kind != FileKind::kDirectory) continue;
      const auto directory = tree_.directory().open_writable_directory(change.path);
      const auto inside = (*directory)->list();
      for (const DirectoryEntry& entry : *inside) {
        EXPECT_TRUE(removed.contains(*change.path.join(rel(entry.name)))) << entry.name;
      }
    }
  }
}

}  // namespace
}  // namespace galley
