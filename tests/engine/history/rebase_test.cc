#include "engine/history/rebase.h"

#include <gtest/gtest.h>

#include "tests/engine/history/history_workspace.h"

namespace galley {
namespace {

#define OK(expression) ASSERT_TRUE((expression).has_value())

std::string numbers(int from, int to) {
  std::string text;
  for (int i = from; i <= to; ++i) text += std::to_string(i) + "\n";
  return text;
}

std::string with(std::string text, std::string_view line, std::string_view other) {
  text.replace(text.find(line), line.size(), other);
  return text;
}

class RebaseTest : public testing::Test {
 protected:
  Proposal propose(const std::function<void(Overlay&)>& stage) {
    Overlay overlay(workspace_.root(), make_memory_store(), workspace_.clock());
    stage(overlay);
    return Proposal::freeze(overlay);
  }
  RebaseOutcome run(const Proposal& change, const RebaseOptions& options = {}) {
    auto outcome = rebase(change, workspace_.root(), workspace_.clock(), options);
    EXPECT_TRUE(outcome.has_value()) << outcome.error().message;
    return *std::move(outcome);
  }
  Rebased fits(const Proposal& change, const RebaseOptions& options = {}) {
    RebaseOutcome outcome = run(change, options);
    if (auto* rebased = std::get_if<Rebased>(&outcome)) return std::move(*rebased);
    ADD_FAILURE() << std::get<RebaseConflict>(outcome).paths.at(0).message;
    return {Proposal::from({}, make_memory_store()), {}};
  }
  PathConflict conflict(const Proposal& change, const RebaseOptions& options = {}) {
    RebaseOutcome outcome = run(change, options);
    if (auto* found = std::get_if<RebaseConflict>(&outcome)) return found->paths.at(0);
    ADD_FAILURE() << "no conflict";
    return {};
  }
  HistoryWorkspace workspace_;
};

TEST_F(RebaseTest, NothingChangedGivesTheSameProposal) {
  workspace_.write("a.txt", "1\n");
  const Proposal change = propose([](Overlay& o) {
    OK(o.write(rel("a.txt"), "2\n"));
    OK(o.write(rel("d/b.txt"), "3\n"));
  });
  const Rebased rebased = fits(change);
  EXPECT_EQ(rebased.proposal.id(), change.id());
  EXPECT_TRUE(rebased.merged.empty());
}

TEST_F(RebaseTest, LinesThatAreApartAreMerged) {
  workspace_.write("a.txt", numbers(1, 20));
  const Proposal change = propose(
      [](Overlay& o) { OK(o.write(rel("a.txt"), with(numbers(1, 20), "\n3\n", "\nthree\n"))); });
  workspace_.write("a.txt", with(numbers(1, 20), "\n15\n", "\nfifteen\n"), 0755);
  const Rebased rebased = fits(change);
  ASSERT_EQ(rebased.merged.size(), 1U);
  workspace_.publish(rebased.proposal, {});
  EXPECT_EQ(workspace_.read("a.txt"),
            with(with(numbers(1, 20), "\n3\n", "\nthree\n"), "\n15\n", "\nfifteen\n"));
  EXPECT_EQ(workspace_.root().stat(rel("a.txt"))->mode, 0755U);
}

TEST_F(RebaseTest, TheSameLinesAreAConflictWithBothSides) {
  workspace_.write("a.txt", numbers(1, 9));
  const Proposal change = propose(
      [](Overlay& o) { OK(o.write(rel("a.txt"), with(numbers(1, 9), "\n5\n", "\nmine\n"))); });
  workspace_.write("a.txt", with(numbers(1, 9), "\n5\n", "\ntheirs\n"));
  const PathConflict found = conflict(change);
  EXPECT_EQ(found.reason, "conflict.lines");
  ASSERT_EQ(found.hunks.size(), 1U);
  EXPECT_EQ(found.hunks[0].line, 5U);
  EXPECT_EQ(found.hunks[0].base, "5\n");
  EXPECT_EQ(found.hunks[0].found, "theirs\n");
  EXPECT_EQ(found.hunks[0].wanted, "mine\n");
  EXPECT_NE(found.diff.find("-5\n+theirs\n"), std::string::npos);
}

TEST_F(RebaseTest, MarkersAreWrittenOnRequest) {
  workspace_.write("a.txt", "1\n");
  const Proposal change = propose([](Overlay& o) { OK(o.write(rel("a.txt"), "mine\n")); });
  workspace_.write("a.txt", "theirs\n");
  RebaseOptions options;
  options.mode = MergeMode::kMarkers;
  const Rebased rebased = fits(change, options);
  ASSERT_EQ(rebased.merged.size(), 1U);
  EXPECT_EQ(rebased.merged[0].markers, 1U);
  const auto text = rebased.proposal.content(rebased.proposal.changes().at(0).after);
  EXPECT_EQ(**text,
            "<<<<<<< workspace\ntheirs\n||||||| base\n1\n=======\nmine\n>>>>>>> proposal\n");
}

TEST_F(RebaseTest, ExactModeMergesNothing) {
  workspace_.write("a.txt", numbers(1, 20));
  const Proposal change = propose(
      [](Overlay& o) { OK(o.write(rel("a.txt"), with(numbers(1, 20), "\n3\n", "\nthree\n"))); });
  workspace_.write("a.txt", with(numbers(1, 20), "\n15\n", "\nfifteen\n"));
  RebaseOptions options;
  options.mode = MergeMode::kExact;
  EXPECT_EQ(conflict(change, options).reason, "conflict.changed");
}

TEST_F(RebaseTest, TheSameChangeOnBothSidesIsNotAConflict) {
  workspace_.write("a.txt", "1\n");
  const Proposal change = propose([](Overlay& o) {
    OK(o.write(rel("a.txt"), "2\n"));
    OK(o.write(rel("b.txt"), "b\n"));
  });
  workspace_.write("a.txt", "2\n");
  const Rebased rebased = fits(change);
  ASSERT_EQ(rebased.proposal.changes().size(), 1U);
  EXPECT_EQ(rebased.proposal.changes()[0].path, rel("b.txt"));
}

TEST_F(RebaseTest, AModeIsMergedAsOneValue) {
  workspace_.write("a.txt", "1\n", 0644);
  const Proposal change = propose([](Overlay& o) { OK(o.set_mode(rel("a.txt"), 0755)); });
  workspace_.write("a.txt", "2\n", 0644);
  const Rebased rebased = fits(change);
  ASSERT_EQ(rebased.proposal.changes().size(), 1U);
  EXPECT_EQ(rebased.proposal.changes()[0].after.mode, 0755U);
  EXPECT_EQ(rebased.proposal.changes()[0].after.content, ContentId::of("2\n"));
  workspace_.write("a.txt", "2\n", 0600);
  EXPECT_EQ(conflict(change).reason, "conflict.mode");
}

TEST_F(RebaseTest, BinariesAndLinksAreNotMerged) {
  const std::string bytes("\0\1\2", 3);
  workspace_.write("a.bin", bytes);
  OK(workspace_.root().make_symlink(rel("link"), "a"));
  const Proposal binary = propose([&](Overlay& o) { OK(o.write(rel("a.bin"), bytes + "x")); });
  const Proposal link = propose([](Overlay& o) { OK(o.make_symlink(rel("link"), "b")); });
  workspace_.write("a.bin", "y" + bytes);
  OK(workspace_.root().remove_file(rel("link")));
  OK(workspace_.root().make_symlink(rel("link"), "c"));
  EXPECT_EQ(conflict(binary).reason, "conflict.binary");
  EXPECT_EQ(conflict(link).reason, "conflict.changed");
}

TEST_F(RebaseTest, MissingFilesAndChangedKindsAreConflicts) {
  workspace_.write("a", "1\n");
  workspace_.write("b", "1\n");
  const Proposal gone = propose([](Overlay& o) { OK(o.write(rel("a"), "2\n")); });
  const Proposal kind = propose([](Overlay& o) { OK(o.write(rel("b"), "2\n")); });
  OK(workspace_.root().remove_file(rel("a")));
  OK(workspace_.root().remove_file(rel("b")));
  workspace_.write("b/c", "1\n");
  EXPECT_EQ(conflict(gone).reason, "conflict.missing");
  EXPECT_EQ(conflict(kind).reason, "conflict.kind");
}

TEST_F(RebaseTest, ARenameKeepsALaterEditOfItsSource) {
  workspace_.write("old.txt", numbers(1, 20));
  const Proposal change = propose([](Overlay& o) {
    OK(o.move(rel("old.txt"), rel("d/new.txt")));
    OK(o.write(rel("d/new.txt"), with(numbers(1, 20), "\n3\n", "\nthree\n")));
  });
  workspace_.write("old.txt", with(numbers(1, 20), "\n15\n", "\nfifteen\n"));
  workspace_.publish(fits(change).proposal, {});
  EXPECT_FALSE(workspace_.exists("old.txt"));
  EXPECT_EQ(workspace_.read("d/new.txt"),
            with(with(numbers(1, 20), "\n3\n", "\nthree\n"), "\n15\n", "\nfifteen\n"));
}

TEST_F(RebaseTest, AMissingParentIsRestoredAndAFileInItsPlaceIsAConflict) {
  workspace_.write("d/a.txt", "1\n");
  const Proposal change = propose([](Overlay& o) { OK(o.write(rel("d/b.txt"), "2\n")); });
  OK(remove_tree(workspace_.root(), rel("d")));
  const Rebased rebased = fits(change);
  ASSERT_EQ(rebased.proposal.changes().size(), 2U);
  EXPECT_EQ(rebased.proposal.changes()[0].path, rel("d"));
  workspace_.write("d", "now a file\n");
  EXPECT_EQ(conflict(change).reason, "conflict.parent");
}

TEST_F(RebaseTest, AStagedProposalFreezesToTheSameProposal) {
  workspace_.write("a.txt", "1\n");
  workspace_.write("b.txt", "b\n");
  const Proposal change = propose([](Overlay& o) {
    OK(o.write(rel("a.txt"), "2\n"));
    OK(o.move(rel("b.txt"), rel("c/d.txt")));
  });
  Overlay overlay(workspace_.root(), make_memory_store(), workspace_.clock());
  OK(stage_proposal(change, overlay));
  const Proposal again = Proposal::freeze(overlay);
  EXPECT_EQ(again.id(), change.id());
  EXPECT_EQ(**again.content(again.changes().at(0).after), "2\n");
  EXPECT_EQ(**again.content(again.changes().at(0).before), "1\n");
}

}  // namespace
}  // namespace galley
