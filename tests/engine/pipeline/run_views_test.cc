// Live runs while others commit: the view of each run, and the fate of its changes.
#include <galley/workspace.h>
#include <gtest/gtest.h>

#include "engine/commit/history_reader.h"
#include "engine/pipeline/inner_transaction.h"
#include "engine/stages/live_views.h"
#include "support/own_file.h"
#include "tests/engine/pipeline/view_fixture.h"

namespace galley {
namespace {

using Lines = std::vector<std::string>;

bool is_receipt(const Result<CommitOutcome>& outcome) {
  EXPECT_TRUE(outcome.has_value()) << outcome.error().message;
  return outcome && std::holds_alternative<Receipt>(*outcome);
}

/// Waits until the clock of the file system has gone on.
void pass_a_tick() {
  const TempDirectory place;
  const int64_t now = place.directory().stat(RelPath::root())->ctime_ns;
  for (int i = 0; place.directory().stat(RelPath::root())->ctime_ns <= now; ++i) {
    place.write("tick" + std::to_string(i % 2), "");
    GALLEY_CHECK(place.directory().remove_file(rel("tick" + std::to_string(i % 2))).has_value());
  }
}

TEST_F(RunViews, ChangesOfALiveRunAreListedAndCommittedWhileItRuns) {
  tree_.write("f", "one\n");
  const auto run = start();
  ASSERT_EQ(run->call({"write", "f", "two\n"}), "ok");
  ASSERT_EQ(run->call({"write", "new", "n\n"}), "ok");
  EXPECT_EQ(changes_of(run->id()), (Lines{"M f", "A new"}));
  ASSERT_TRUE(is_receipt(commit(run->id())));
  EXPECT_EQ(tree_.read("f"), "two\n");
  EXPECT_EQ(tree_.read("new"), "n\n");
  EXPECT_EQ(run->view().read("f"), "oktwo\n");
  EXPECT_EQ(changes_of(run->id()), Lines());
  ASSERT_EQ(run->call({"append", "f", "three\n"}), "ok");
  EXPECT_EQ(changes_of(run->id()), (Lines{"M f"}));
  ASSERT_TRUE(is_receipt(commit(run->id())));
  EXPECT_EQ(tree_.read("f"), "two\nthree\n");
}

TEST_F(RunViews, ALiveRunDoesNotSeeOtherCommits) {
  tree_.write("f", "one\n");
  tree_.write("gone", "gone\n");
  tree_.write("d/x", "x\n");
  const auto run = start();
  commit_beside({{"f", "two\n"}, {"gone", std::nullopt}, {"d/x", std::nullopt}, {"new", "n\n"}});
  EXPECT_EQ(tree_.read("f"), "two\n");
  EXPECT_FALSE(tree_.exists("d"));
  EXPECT_EQ(run->view().read("f"), "okone\n");
  EXPECT_EQ(run->view().read("gone"), "okgone\n");
  EXPECT_EQ(run->view().list("d"), "ok x");
  EXPECT_EQ(run->view().list(""), "ok d f gone");
  EXPECT_EQ(changes_of(run->id()), Lines());
}

TEST_F(RunViews, ALiveRunKeepsThePathThatAnotherCommitRenamed) {
  tree_.write("old", "content\n");
  const auto run = start();
  EXPECT_EQ(run->view().read("old"), "okcontent\n");
  auto transaction = workspace_->begin();
  ASSERT_TRUE(transaction->move("old", "fresh").has_value());
  ASSERT_TRUE(is_receipt(transaction->commit()));
  EXPECT_EQ(run->call({"write", "fresh", "mine\n"}), "ok");
  EXPECT_EQ(run->view().read("old"), "okcontent\n");
  EXPECT_EQ(tree_.read("fresh"), "content\n");
  EXPECT_EQ(changes_of(run->id()), (Lines{"A fresh"}));
}

TEST_F(RunViews, ALiveRunDoesNotSeeAnUndo) {
  tree_.write("f", "one\n");
  commit_beside({{"f", "two\n"}, {"n", "n\n"}});
  const auto run = start();
  ASSERT_TRUE(is_receipt(workspace_->undo()));
  EXPECT_EQ(tree_.read("f"), "one\n");
  EXPECT_EQ(run->view().read("f"), "oktwo\n");
  EXPECT_EQ(run->view().read("n"), "okn\n");
  EXPECT_EQ(changes_of(run->id()), Lines());
}

TEST_F(RunViews, ChangedLinesOfTheRunAndOfAnotherCommitAreMerged) {
  tree_.write("f", "a\nb\nc\nd\ne\n");
  const auto run = start();
  ASSERT_EQ(run->call({"save", "f", "A\nb\nc\nd\ne\n"}), "ok");
  commit_beside({{"f", "a\nb\nc\nd\nE\n"}});
  ASSERT_TRUE(is_receipt(commit(run->id())));
  EXPECT_EQ(tree_.read("f"), "A\nb\nc\nd\nE\n");
  EXPECT_EQ(run->view().read("f"), "okA\nb\nc\nd\ne\n");
}

TEST_F(RunViews, ASavedFileMayBeDeletedWithAnOldFolderWhoseModeTheRunChanged) {
  tree_.write("d/x", "x\n");
  tree_.write("gone", "gone\n");
  GALLEY_CHECK(tree_.directory().set_mode(rel("d"), 0700).has_value());
  const auto run = start();
  ASSERT_EQ(run->call({"chmod", "d"}), "ok");
  ASSERT_EQ(run->call({"remove", "gone"}), "ok");
  ASSERT_TRUE(is_receipt(commit(run->id())));
  tree_.write("d/saved", "saved\n");
  pass_a_tick();
  run->note_refresh();
  EXPECT_EQ(changes_of(run->id()), Lines());
  EXPECT_EQ(run->view().read("d/saved"), "oksaved\n");
  for (const char* path : {"d/saved", "d/x"}) ASSERT_EQ(run->call({"remove", path}), "ok");
  ASSERT_EQ(run->call({"rmdir", "d"}), "ok");
  ASSERT_TRUE(is_receipt(commit(run->id())));
  EXPECT_FALSE(tree_.exists("d"));
}

TEST_F(RunViews, AFileThatCameMeanwhileIsNotDeletedUnseen) {
  const auto run = start();
  tree_.write("saved", "saved\n");
  pass_a_tick();
  ASSERT_EQ(run->call({"remove", "saved"}), "ok");
  EXPECT_FALSE(is_receipt(commit(run->id())));
  EXPECT_EQ(tree_.read("saved"), "saved\n");
}

// --- sync: a live run gets what others committed ------------------------------------------------

class SyncedRuns : public RunViews {
 protected:
  InnerTransaction::SyncedRun sync(const std::string& tx) {
    auto transaction = workspace_->resume(tx);
    GALLEY_CHECK(transaction.has_value());
    auto done = inner(*transaction).sync_run();
    EXPECT_TRUE(done.has_value()) << done.error().message;
    return done ? *std::move(done) : InnerTransaction::SyncedRun();
  }
};

TEST_F(SyncedRuns, ARunSeesOtherCommitsAfterASyncAndDoesNotProposeThem) {
  tree_.write("f", "one\n");
  tree_.write("gone", "gone\n");
  tree_.write("d/x", "x\n");
  const auto run = start();
  EXPECT_EQ(run->view().read("new"), "E2");
  commit_beside({{"f", "two\n"}, {"gone", std::nullopt}, {"d/x", std::nullopt}, {"new", "n\n"}});
  commit_beside({{"e/deep/y", "y\n"}});
  const auto done = sync(run->id());
  EXPECT_TRUE(done.conflicts.empty());
  EXPECT_TRUE(done.skipped.empty());
  EXPECT_EQ(run->view().read("f"), "oktwo\n");
  EXPECT_EQ(run->view().list(""), "ok e f new");
  EXPECT_EQ(run->view().read("e/deep/y"), "oky\n");
  EXPECT_EQ(changes_of(run->id()), Lines());
  EXPECT_TRUE(sync(run->id()).taken.empty());
}

TEST_F(SyncedRuns, LinesOfBothAreMergedIntoTheViewAndTheRestIsProposed) {
  tree_.write("f", "a\nb\nc\nd\ne\n");
  const auto run = start();
  ASSERT_EQ(run->call({"save", "f", "A\nb\nc\nd\ne\n"}), "ok");
  commit_beside({{"f", "a\nb\nc\nd\nE\n"}});
  EXPECT_EQ(sync(run->id()).merged.size(), 1U);
  EXPECT_EQ(run->view().read("f"), "okA\nb\nc\nd\nE\n");
  EXPECT_EQ(tree_.read("f"), "a\nb\nc\nd\nE\n");
  EXPECT_EQ(changes_of(run->id()), (Lines{"M f"}));
  // The run may now change the lines that others committed.
  ASSERT_EQ(run->call({"save", "f", "A\nb\nc\nd\nEE\n"}), "ok");
  ASSERT_TRUE(is_receipt(commit(run->id())));
  EXPECT_EQ(tree_.read("f"), "A\nb\nc\nd\nEE\n");
}

TEST_F(SyncedRuns, AChangeThatOthersMadeAsWellIsNoLongerTheRuns) {
  tree_.write("f", "a\nb\nc\nd\ne\n");
  const auto run = start();
  ASSERT_EQ(run->call({"save", "f", "b\nc\nd\ne\n"}), "ok");
  commit_beside({{"f", "b\nc\nd\n"}});
  EXPECT_TRUE(sync(run->id()).conflicts.empty());
  EXPECT_EQ(run->view().read("f"), "okb\nc\nd\n");
  EXPECT_EQ(changes_of(run->id()), Lines());
}

TEST_F(SyncedRuns, AFileThatTheRunDeletedAfterOthersIsNotSkipped) {
  tree_.write("f", "one\n");
  const auto run = start();
  commit_beside({{"f", std::nullopt}});
  ASSERT_EQ(run->call({"remove", "f"}), "ok");
  EXPECT_TRUE(sync(run->id()).skipped.empty());
  EXPECT_EQ(changes_of(run->id()), Lines());
}

TEST_F(SyncedRuns, AConflictIsNamedByHunkAndLeavesTheFileAndItsBase) {
  tree_.write("f", "one\n");
  tree_.write("g", "one\n");
  const auto run = start();
  ASSERT_EQ(run->call({"save", "f", "mine\n"}), "ok");
  commit_beside({{"f", "theirs\n"}, {"g", "two\n"}});
  const auto done = sync(run->id());
  ASSERT_EQ(done.conflicts.size(), 1U);
  ASSERT_EQ(done.conflicts[0].hunks.size(), 1U);
  EXPECT_EQ(done.conflicts[0].hunks[0].found, "theirs\n");
  EXPECT_EQ(done.conflicts[0].hunks[0].wanted, "mine\n");
  EXPECT_EQ(run->view().read("f"), "okmine\n");
  EXPECT_EQ(run->view().read("g"), "oktwo\n");
  const auto outcome = commit(run->id());
  ASSERT_TRUE(outcome.has_value());
  EXPECT_TRUE(std::holds_alternative<Conflict>(*outcome));
  // The program puts it right by itself.
  ASSERT_EQ(run->call({"save", "f", "theirs\n"}), "ok");
  EXPECT_TRUE(sync(run->id()).conflicts.empty());
  EXPECT_EQ(changes_of(run->id()), Lines());
}

TEST_F(SyncedRuns, ChangesOfTheRunAndOfOthersInAndAroundFoldersStay) {
  tree_.write("d/x", "x\n");
  tree_.write("own", "own\n");
  const auto run = start();
  ASSERT_EQ(run->call({"write", "d/mine", "m\n"}), "ok");
  ASSERT_EQ(run->call({"remove", "own"}), "ok");
  commit_beside({{"d/x", std::nullopt}, {"e/y", "y\n"}});
  EXPECT_TRUE(sync(run->id()).conflicts.empty());
  EXPECT_EQ(run->view().list("d"), "ok mine");
  EXPECT_EQ(run->view().list(""), "ok d e");
  ASSERT_EQ(run->call({"write", "e/mine", "m\n"}), "ok");
  tree_.write("e/saved", "not seen\n");
  ASSERT_TRUE(is_receipt(commit(run->id())));
  EXPECT_EQ(tree_.read("e/y"), "y\n");
  EXPECT_EQ(tree_.read("e/mine"), "m\n");
  EXPECT_EQ(tree_.read("e/saved"), "not seen\n") << "the run never saw this file";
  EXPECT_EQ(tree_.read("d/mine"), "m\n");
  EXPECT_FALSE(tree_.exists("d/x"));
  EXPECT_FALSE(tree_.exists("own"));
}

TEST_F(SyncedRuns, LaterCommitsAreHiddenUntilTheNextSync) {
  tree_.write("f", "one\n");
  const auto run = start();
  commit_beside({{"f", "two\n"}, {"e/y", "y\n"}});
  sync(run->id());
  commit_beside({{"f", "three\n"}, {"e/z", "z\n"}, {"e/y", std::nullopt}});
  EXPECT_EQ(run->view().read("f"), "oktwo\n");
  EXPECT_EQ(run->view().list("e"), "ok y");
  EXPECT_EQ(changes_of(run->id()), Lines());
  sync(run->id());
  EXPECT_EQ(run->view().read("f"), "okthree\n");
  EXPECT_EQ(run->view().list("e"), "ok z");
  EXPECT_EQ(changes_of(run->id()), Lines());
  ASSERT_TRUE(is_receipt(workspace_->undo()));
  sync(run->id());
  EXPECT_EQ(run->view().read("f"), "oktwo\n");
  EXPECT_EQ(run->view().list("e"), "ok y");
  EXPECT_EQ(changes_of(run->id()), Lines());
}

TEST_F(SyncedRuns, WithoutALiveRunThereIsNothingToSync) {
  auto transaction = workspace_->begin_stored();
  ASSERT_TRUE(transaction.has_value());
  const auto done = inner(*transaction).sync_run();
  ASSERT_FALSE(done.has_value());
  EXPECT_EQ(done.error().reason, "run.not_found");
}

TEST_F(RunViews, TheBaseIsTheStateThatTheRunSawAtItsFirstWrite) {
  tree_.write("f", "a\nb\nc\nd\ne\n");
  const auto run = start();
  commit_beside({{"f", "a\nb\nc\nd\nE\n"}});
  ASSERT_EQ(run->call({"save", "f", "A\nb\nc\nd\ne\n"}), "ok");
  EXPECT_EQ(changes_of(run->id()), (Lines{"M f"}));
  ASSERT_TRUE(is_receipt(commit(run->id())));
  EXPECT_EQ(tree_.read("f"), "A\nb\nc\nd\nE\n");
}

TEST_F(RunViews, ChangesAfterAMergedCheckpointAreMergedAgain) {
  tree_.write("f", "a\nb\nc\nd\ne\n");
  const auto run = start();
  ASSERT_EQ(run->call({"save", "f", "A\nb\nc\nd\ne\n"}), "ok");
  commit_beside({{"f", "a\nb\nc\nd\nE\n"}});
  ASSERT_TRUE(is_receipt(commit(run->id())));
  EXPECT_EQ(changes_of(run->id()), Lines());
  ASSERT_EQ(run->call({"save", "f", "A\nb\nC\nd\ne\n"}), "ok");
  ASSERT_TRUE(is_receipt(commit(run->id())));
  EXPECT_EQ(tree_.read("f"), "A\nb\nC\nd\nE\n");
}

TEST_F(RunViews, ChangesOfTheSameLinesAreAConflictAndNothingIsLost) {
  tree_.write("f", "a\n");
  const auto run = start();
  ASSERT_EQ(run->call({"write", "f", "mine\n"}), "ok");
  commit_beside({{"f", "theirs\n"}});
  const auto outcome = commit(run->id());
  ASSERT_TRUE(outcome.has_value()) << outcome.error().message;
  const auto* conflict = std::get_if<Conflict>(&*outcome);
  ASSERT_NE(conflict, nullptr);
  ASSERT_EQ(conflict->paths.size(), 1U);
  EXPECT_EQ(conflict->paths[0].path.str(), "f");
  EXPECT_EQ(tree_.read("f"), "theirs\n");
  EXPECT_EQ(run->view().read("f"), "okmine\n");
  EXPECT_EQ(changes_of(run->id()), (Lines{"M f"}));
}

TEST_F(RunViews, APathThatBothCreatedIsAConflict) {
  const auto run = start();
  commit_beside({{"n", "theirs\n"}});
  ASSERT_EQ(run->call({"write", "n", "mine\n"}), "ok");
  const auto outcome = commit(run->id());
  ASSERT_TRUE(outcome.has_value());
  EXPECT_TRUE(std::holds_alternative<Conflict>(*outcome));
  EXPECT_EQ(tree_.read("n"), "theirs\n");
}

TEST_F(RunViews, AFileThatBothCreatedIsAConflictButItsDirectoryIsNot) {
  const auto run = start();
  commit_beside({{"d/theirs", "theirs\n"}, {"d/n", "theirs\n"}});
  ASSERT_EQ(run->call({"mkdir", "d"}), "ok");
  ASSERT_EQ(run->call({"write", "d/mine", "mine\n"}), "ok");
  ASSERT_EQ(run->call({"write", "d/n", "mine\n"}), "ok");
  const auto outcome = commit(run->id());
  ASSERT_TRUE(outcome.has_value());
  const auto* conflict = std::get_if<Conflict>(&*outcome);
  ASSERT_NE(conflict, nullptr);
  ASSERT_EQ(conflict->paths.size(), 1U);
  EXPECT_EQ(conflict->paths[0].path.str(), "d/n");
  EXPECT_EQ(tree_.read("d/n"), "theirs\n");
  EXPECT_FALSE(tree_.exists("d/mine"));
  ASSERT_EQ(run->call({"remove", "d/n"}), "ok");
  ASSERT_TRUE(is_receipt(commit(run->id())));
  EXPECT_EQ(tree_.read("d/n"), "theirs\n");
  EXPECT_EQ(tree_.read("d/mine"), "mine\n");
}

TEST_F(RunViews, TwoRunsMergeInTheOrderOfTheirCommits) {
  tree_.write("f", "a\nb\nc\nd\ne\n");
  const auto first = start();
  const auto second = start();
  ASSERT_EQ(first->call({"save", "f", "1\nb\nc\nd\ne\n"}), "ok");
  ASSERT_EQ(second->call({"save", "f", "a\nb\nc\nd\n2\n"}), "ok");
  ASSERT_TRUE(is_receipt(commit(second->id())));
  ASSERT_TRUE(is_receipt(commit(first->id())));
  EXPECT_EQ(tree_.read("f"), "1\nb\nc\nd\n2\n");
  EXPECT_EQ(first->view().read("f"), "ok1\nb\nc\nd\ne\n");
  EXPECT_EQ(second->view().read("f"), "oka\nb\nc\nd\n2\n");
}

TEST_F(RunViews, PinsWithoutACommitAreNotChanges) {
  tree_.write("f", "one\n");
  tree_.write("d/x", "x\n");
  const auto run = start();
  auto transaction = workspace_->begin();
  ASSERT_TRUE(transaction->write("f", "two\n").has_value());
  ASSERT_TRUE(transaction->remove("d/x").has_value());
  ASSERT_TRUE(transaction->write("new/file", "n\n").has_value());
  // The committer dies here.
  ASSERT_TRUE(pin_live_views(*persistent_of(*workspace_).state(), transaction->proposal().changes())
                  .has_value());
  EXPECT_EQ(changes_of(run->id()), Lines());
  EXPECT_EQ(run->view().read("f"), "okone\n");
  ASSERT_EQ(run->call({"mkdir", "new"}), "ok");
  EXPECT_EQ(changes_of(run->id()), (Lines{"A new"}));
}

TEST_F(RunViews, AnInterruptedRunIsCollectedOnce) {
  tree_.write("f", "a\nb\nc\nd\ne\n");
  const auto run = start();
  ASSERT_EQ(run->call({"save", "f", "A\nb\nc\nd\ne\n"}), "ok");
  commit_beside({{"f", "a\nb\nc\nd\nE\n"}});
  run->end();
  EXPECT_EQ(changes_of(run->id()), (Lines{"M f"}));
  EXPECT_FALSE(tree_.exists(own_file(*workspace_, "runs/" + run->id())));
  EXPECT_FALSE(tree_.exists(own_file(*workspace_, "runs/graveyard")));
  ASSERT_TRUE(is_receipt(commit(run->id())));
  EXPECT_EQ(tree_.read("f"), "A\nb\nc\nd\nE\n");
}

TEST_F(RunViews, ACommitIgnoresARunThatHasEnded) {
  tree_.write("f", "one\n");
  const auto run = start();
  run->end();
  commit_beside({{"f", "two\n"}});
  EXPECT_EQ(tree_.read("f"), "two\n");
  EXPECT_EQ(changes_of(run->id()), Lines());
}

TEST_F(RunViews, NothingIsCommittedIfAViewCannotBePinned) {
  tree_.write("f", "one\n");
  const auto run = start();
  run->note().mount_fd = 0;  // something else that the process has open
  run->write_note();
  auto transaction = workspace_->begin();
  ASSERT_TRUE(transaction->write("f", "two\n").has_value());
  const auto outcome = transaction->commit();
  ASSERT_FALSE(outcome.has_value());
  EXPECT_EQ(outcome.error().reason, "run.not_pinned");
  EXPECT_NE(outcome.error().message.find("galley stop " + run->id()), std::string::npos);
  EXPECT_EQ(tree_.read("f"), "one\n");
}

TEST_F(RunViews, AReusedProcessNumberIsNotTrusted) {
  tree_.write("f", "one\n");
  const auto run = start();
  run->note().supervisor.start += 1;
  run->write_note();
  auto transaction = workspace_->begin();
  ASSERT_TRUE(transaction->write("f", "two\n").has_value());
  const auto outcome = transaction->commit();
  ASSERT_FALSE(outcome.has_value());
  EXPECT_EQ(outcome.error().reason, "run.not_pinned");
}

TEST_F(RunViews, NothingElseIsStagedDuringALiveRun) {
  tree_.write("f", "one\n");
  const auto run = start();
  ASSERT_EQ(run->call({"write", "f", "two\n"}), "ok");
  auto transaction = workspace_->resume(run->id());
  ASSERT_TRUE(transaction.has_value());
  const auto written = transaction->write("g", "x");
  ASSERT_FALSE(written.has_value());
  EXPECT_EQ(written.error().reason, "run.live");
  const auto dropped = transaction->rollback();
  ASSERT_FALSE(dropped.has_value());
  EXPECT_EQ(dropped.error().reason, "run.live");
  EXPECT_TRUE(transaction->read("f").has_value());
}

TEST_F(RunViews, ASaveByAnEditorIsAConflict) {
  tree_.write("f", "one\n");
  const auto run = start();
  ASSERT_EQ(run->call({"save", "f", "mine\n"}), "ok");
  tree_.write("f", "saved by an editor\n");
  const auto outcome = commit(run->id());
  ASSERT_TRUE(outcome.has_value()) << outcome.error().message;
  EXPECT_TRUE(std::holds_alternative<Conflict>(*outcome));
  EXPECT_EQ(tree_.read("f"), "saved by an editor\n");
}

// A look of Galley notes what the run saw of each file that it opened for writing.
TEST_F(RunViews, ASaveAfterALookIsMergedWithTheChangeOfTheRun) {
  tree_.write("f", "a\nb\nc\nd\ne\n");
  const auto run = start();
  ASSERT_EQ(run->call({"save", "f", "A\nb\nc\nd\ne\n"}), "ok");
  EXPECT_EQ(changes_of(run->id()), (Lines{"M f"}));
  pass_a_tick();
  tree_.write("f", "a\nb\nc\nd\nE\n");
  ASSERT_TRUE(is_receipt(commit(run->id())));
  EXPECT_EQ(tree_.read("f"), "A\nb\nc\nd\nE\n");
}

TEST_F(RunViews, AFileThatTheRunOnlyOpenedIsNotItsChangeAfterASave) {
  tree_.write("f", "a\nb\nc\nd\ne\n");
  const auto run = start();
  ASSERT_EQ(run->call({"append", "f", ""}), "ok");
  EXPECT_EQ(changes_of(run->id()), Lines());
  pass_a_tick();
  tree_.write("f", "a\nb\nc\nd\nE\n");
  EXPECT_EQ(changes_of(run->id()), Lines());
  EXPECT_EQ(run->view().read("f"), "oka\nb\nc\nd\ne\n");
  ASSERT_EQ(run->call({"save", "f", "A\nb\nc\nd\ne\n"}), "ok");
  EXPECT_EQ(changes_of(run->id()), (Lines{"M f"}));
  ASSERT_TRUE(is_receipt(commit(run->id())));
  EXPECT_EQ(tree_.read("f"), "A\nb\nc\nd\nE\n");
}

TEST_F(SyncedRuns, ASavedFileThatTheRunOnlyOpenedIsTakenOver) {
  tree_.write("f", "one\n");
  const auto run = start();
  ASSERT_EQ(run->call({"append", "f", ""}), "ok");
  EXPECT_EQ(changes_of(run->id()), Lines());
  pass_a_tick();
  tree_.write("f", "saved by an editor\n");
  EXPECT_EQ(sync(run->id()).taken, (std::vector<RelPath>{rel("f")}));
  EXPECT_EQ(run->view().read("f"), "oksaved by an editor\n");
  EXPECT_EQ(changes_of(run->id()), Lines());
}

TEST_F(RunViews, ASaveByAnEditorBeforeTheFirstWriteIsTheBase) {
  tree_.write("f", "one\n");
  const auto run = start();
  tree_.write("f", "saved by an editor\n");
  pass_a_tick();
  ASSERT_EQ(run->call({"append", "f", "mine\n"}), "ok");
  ASSERT_TRUE(is_receipt(commit(run->id())));
  EXPECT_EQ(tree_.read("f"), "saved by an editor\nmine\n");
}

// The whiteouts of an overlay can share one inode, so they do not have the times of the deletions.
TEST_F(RunViews, ASaveBeforeALastLookIsTheBaseOfADeletionAfterOthers) {
  tree_.write("first", "1\n");
  tree_.write("d/f", "one\n");
  const auto run = start();
  ASSERT_EQ(run->call({"remove", "first"}), "ok");
  ASSERT_TRUE(is_receipt(commit(run->id())));
  pass_a_tick();
  tree_.write("d/f", "saved by an editor\n");
  pass_a_tick();
  EXPECT_EQ(changes_of(run->id()), Lines());
  ASSERT_EQ(run->call({"remove", "d/f"}), "ok");
  ASSERT_TRUE(is_receipt(commit(run->id())));
  EXPECT_FALSE(tree_.exists("d/f"));
}

TEST_F(RunViews, ASaveAfterTheLastLookIsAConflictWithADeletion) {
  tree_.write("first", "1\n");
  tree_.write("f", "one\n");
  const auto run = start();
  ASSERT_EQ(run->call({"remove", "first"}), "ok");
  EXPECT_EQ(changes_of(run->id()), (Lines{"D first"}));
  ASSERT_EQ(run->call({"remove", "f"}), "ok");
  pass_a_tick();
  tree_.write("f", "saved by an editor\n");
  pass_a_tick();
  EXPECT_EQ(changes_of(run->id()), (Lines{"D f", "D first"}));
  const auto outcome = commit(run->id());
  ASSERT_TRUE(outcome.has_value()) << outcome.error().message;
  EXPECT_TRUE(std::holds_alternative<Conflict>(*outcome));
  EXPECT_EQ(tree_.read("f"), "saved by an editor\n");
}

TEST_F(RunViews, ASaveInADirectoryOfTheRunIsAConflictWithItsDeletion) {
  const auto run = start();
  ASSERT_EQ(run->call({"mkdir", "d"}), "ok");
  ASSERT_EQ(run->call({"mkdir", "d/e"}), "ok");
  ASSERT_TRUE(is_receipt(commit(run->id())));
  pass_a_tick();
  tree_.write("d/e/saved", "by an editor\n");
  pass_a_tick();
  EXPECT_EQ(changes_of(run->id()), Lines());
  EXPECT_EQ(run->view().list("d/e"), "ok");
  ASSERT_EQ(run->call({"rmdir", "d/e"}), "ok");
  const auto outcome = commit(run->id());
  ASSERT_TRUE(outcome.has_value()) << outcome.error().message;
  EXPECT_TRUE(std::holds_alternative<Conflict>(*outcome));
  EXPECT_EQ(tree_.read("d/e/saved"), "by an editor\n");
}

TEST_F(RunViews, StatusCountsTheChangesOfALiveRun) {
  const auto run = start();
  ASSERT_EQ(run->call({"write", "n", "1"}), "ok");
  ASSERT_EQ(run->call({"write", "m", "2"}), "ok");
  const auto stages = workspace_->stages();
  ASSERT_TRUE(stages.has_value());
  for (const auto& stage : *stages) {
    if (stage.id != run->id()) continue;
    EXPECT_EQ(stage.changes, 2U);
  }
}

TEST_F(RunViews, ACheckpointIsAppliedIfTheCommitterDiesAfterTheCommit) {
  tree_.write("f", "a\nb\nc\nd\ne\n");
  const auto run = start();
  ASSERT_EQ(run->call({"save", "f", "A\nb\nc\nd\ne\n"}), "ok");
  commit_beside({{"f", "a\nb\nc\nd\nE\n"}});
  {
    auto transaction = workspace_->resume(run->id());
    const Overlay::Entries captured = overlay_of(*transaction).entries();
    auto folder = RunFolder::open(*persistent_of(*workspace_).state(), run->id());
    ASSERT_TRUE(is_receipt(transaction->commit()));
    // As if the basis had not been written any more.
    const auto latest = History(*persistent_of(*workspace_).state()).latest();
    const auto record = History(*persistent_of(*workspace_).state()).journal(**latest);
    ASSERT_TRUE(folder->directory().remove_file(rel("basis")).has_value());
    ASSERT_TRUE(
        note_checkpoint(*folder, **latest, (*record)->journal.proposal, captured).has_value());
  }
  EXPECT_EQ(changes_of(run->id()), Lines());
  EXPECT_EQ(tree_.read("f"), "A\nb\nc\nd\nE\n");
}

TEST_F(RunViews, ACheckpointWithoutACommitIsRemoved) {
  tree_.write("f", "one\n");
  const auto run = start();
  ASSERT_EQ(run->call({"write", "f", "two\n"}), "ok");
  {
    auto transaction = workspace_->resume(run->id());
    auto folder = RunFolder::open(*persistent_of(*workspace_).state(), run->id());
    ASSERT_TRUE(note_checkpoint(*folder, TxId{7}, transaction->proposal().id(),
                                overlay_of(*transaction).entries())
                    .has_value());
  }
  EXPECT_EQ(changes_of(run->id()), (Lines{"M f"}));
  EXPECT_FALSE(tree_.exists(own_file(*workspace_, "runs/" + run->id() + "/checkpoint")));
}

TEST_F(RunViews, FailingToCollectARunAfterItsCommitIsAWarning) {
  tree_.write("f", "one\n");
  const auto run = start();
  ASSERT_EQ(run->call({"write", "f", "two\n"}), "ok");
  // After the commit point another process damages the note of the run.
  UserSettings settings;
  settings.config.after_apply = {"/bin/sh", "-c",
                                 "echo spoiled > " + tree_.path() + "/" +
                                     own_file(*workspace_, "runs/" + run->id() + "/run.json")};
  WorkspaceOptions options;
  options.user = std::make_shared<const UserSettings>(settings);
  auto workspace = Workspace::open(tree_.path(), options);
  ASSERT_TRUE(workspace.has_value()) << workspace.error().message;
  auto transaction = (*workspace)->resume(run->id());
  ASSERT_TRUE(transaction.has_value()) << transaction.error().message;
  const auto outcome = transaction->commit();
  ASSERT_TRUE(is_receipt(outcome));
  EXPECT_EQ(tree_.read("f"), "two\n");
  const auto& warnings = std::get<Receipt>(*outcome).warnings;
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_NE(warnings[0].find("cannot be staged here"), std::string::npos) << warnings[0];
  // Nothing else is committed by it until that is mended.
  const auto again = transaction->commit();
  ASSERT_FALSE(again.has_value());
  EXPECT_EQ(again.error().reason, "run.damaged");
}

}  // namespace
}  // namespace galley
