#include "engine/history/undo.h"

#include <gtest/gtest.h>

#include "tests/engine/history/history_workspace.h"

namespace galley {
namespace {

class UndoTest : public testing::Test {
 protected:
  using Tree = std::map<std::string, std::string>;

  /// Undo gives the first tree back and redo the second.
  void expect_round_trip(const std::function<void(Overlay&)>& stage) {
    const Tree before = workspace_.tree();
    const TxId id = workspace_.commit(stage);
    const Tree after = workspace_.tree();
    ASSERT_NE(before, after);
    workspace_.undo(id);
    EXPECT_EQ(workspace_.tree(), before);
    workspace_.redo(id);
    EXPECT_EQ(workspace_.tree(), after);
    workspace_.undo(id);
    EXPECT_EQ(workspace_.tree(), before);
  }

  UndoConflict conflict_of(TxId id, const UndoOptions& options = {}) {
    auto outcome =
        plan_undo(workspace_.history(), workspace_.root(), id, workspace_.clock(), options);
    EXPECT_TRUE(outcome.has_value()) << outcome.error().message;
    if (!outcome || !std::holds_alternative<UndoConflict>(*outcome)) {
      ADD_FAILURE() << "no conflict";
      return {};
    }
    return std::get<UndoConflict>(*std::move(outcome));
  }

  HistoryWorkspace workspace_;
};

#define OK(expression) ASSERT_TRUE((expression).has_value())

TEST_F(UndoTest, UndoesACreatedFileWithItsDirectories) {
  expect_round_trip([](Overlay& o) { OK(o.write(rel("a/b/c.txt"), "new\n")); });
}

TEST_F(UndoTest, UndoesAChange) {
  workspace_.write("a.txt", "one\r\ntwo");
  expect_round_trip([](Overlay& o) { OK(o.write(rel("a.txt"), std::string("\0bin", 4))); });
}

TEST_F(UndoTest, UndoesADeletionWithTheDirectoriesThatItEmptied) {
  workspace_.write("a/b/c.txt", "old\n", 0600);
  ASSERT_TRUE(workspace_.root().set_mode(rel("a/b"), 0711).has_value());
  expect_round_trip([](Overlay& o) { OK(o.remove(rel("a/b/c.txt"))); });
}

TEST_F(UndoTest, FollowsAFileThatWasRenamedAlsoIfAnotherHasItsOldName) {
  workspace_.write("f", "1\n2\n3\n4\n5\n6\n7\n8\n");
  const TxId id = workspace_.commit_file("f", "1\n2\n3\n4\n5\nSIX\n7\n8\n");
  workspace_.commit([](Overlay& o) { OK(o.move(rel("f"), rel("g"))); });
  workspace_.commit_file("f", "other\n2\n3\n4\n5\nSIX\n7\n8\n");
  const std::string others = workspace_.read("f");
  workspace_.undo(id);
  EXPECT_EQ(workspace_.read("g"), "1\n2\n3\n4\n5\n6\n7\n8\n");
  EXPECT_EQ(workspace_.read("f"), others);
}

TEST_F(UndoTest, ARenameIsTakenBackFromALaterName) {
  workspace_.write("a", "text\n");
  const TxId id = workspace_.commit([](Overlay& o) { OK(o.move(rel("a"), rel("b"))); });
  workspace_.commit([](Overlay& o) { OK(o.move(rel("b"), rel("c"))); });
  workspace_.commit_file("c", "text\nmore\n");
  workspace_.undo(id);
  EXPECT_EQ(workspace_.read("a"), "text\nmore\n");
  EXPECT_FALSE(workspace_.exists("b") || workspace_.exists("c"));
}

TEST_F(UndoTest, ACreatedFileIsRemovedAtItsLaterName) {
  const TxId id = workspace_.commit_file("f", "new\n");
  workspace_.commit([](Overlay& o) { OK(o.move(rel("f"), rel("g"))); });
  workspace_.undo(id);
  EXPECT_FALSE(workspace_.exists("f") || workspace_.exists("g"));
  workspace_.redo();
  EXPECT_EQ(workspace_.read("g"), "new\n");
}

TEST_F(UndoTest, ACreatedFileThatWasRenamedAndChangedIsAConflict) {
  const TxId id = workspace_.commit_file("f", "new\n");
  workspace_.commit([](Overlay& o) { OK(o.move(rel("f"), rel("g"))); });
  workspace_.commit_file("g", "of another\n");
  const UndoConflict conflict = conflict_of(id);
  ASSERT_EQ(conflict.paths.size(), 1U);
  EXPECT_EQ(conflict.paths[0].path, rel("g"));
  EXPECT_EQ(conflict.paths[0].message, "'g', the former 'f', was changed since");
  EXPECT_EQ(workspace_.read("g"), "of another\n");
}

TEST_F(UndoTest, AConflictNamesTheModeThatWasChanged) {
  const TxId id = workspace_.commit_file("f", "new\n");
  ASSERT_TRUE(workspace_.root().set_mode(rel("f"), 0600).has_value());
  const UndoConflict conflict = conflict_of(id);
  ASSERT_EQ(conflict.paths.size(), 1U);
  EXPECT_EQ(conflict.paths[0].message, "'f' was changed since: its mode is 0600, not 0644");
}

TEST_F(UndoTest, SeveralUndoneTogetherFollowRenamesOfOthers) {
  const TxId first = workspace_.commit_file("f", "new\n");
  workspace_.commit([](Overlay& o) { OK(o.move(rel("f"), rel("g"))); });
  const TxId last = workspace_.commit_file("h", "own\n");
  workspace_.publish_plan(plan_undo_together(workspace_.history(), workspace_.root(), {first, last},
                                             workspace_.clock(), {}));
  EXPECT_EQ(workspace_.tree().size(), 0U);
}

TEST_F(UndoTest, SeveralUndoneTogetherDoNotFollowTheRenamesThatTheyTakeBack) {
  workspace_.write("run.sh", "old\n", 0755);
  workspace_.write("k", "1\n2\n3\n4\n5\n6\n7\n8\n");
  std::vector<TxId> ids;
  ids.push_back(workspace_.commit([](Overlay& o) {
    OK(o.write(rel("tab"), "new\n"));
    OK(o.write(rel("k"), "one\n2\n3\n4\n5\n6\n7\n8\n"));
  }));
  workspace_.write("k", "one\n2\n3\n4\n5\n6\n7\nof a person\n");
  ids.push_back(workspace_.commit([](Overlay& o) { OK(o.remove(rel("run.sh"))); }));
  ids.push_back(workspace_.commit([](Overlay& o) { OK(o.move(rel("tab"), rel("run.sh"))); }));
  ids.push_back(workspace_.commit_file("run.sh", "new\nmore\n"));
  workspace_.publish_plan(
      plan_undo_together(workspace_.history(), workspace_.root(), ids, workspace_.clock(), {}));
  EXPECT_EQ(workspace_.read("run.sh"), "old\n");
  EXPECT_EQ(workspace_.read("k"), "1\n2\n3\n4\n5\n6\n7\nof a person\n");
  EXPECT_FALSE(workspace_.exists("tab"));
}

/// A person has a file in the directory that the second transaction made, so its undo keeps it.
TEST_F(UndoTest, AKeptDirectoryGetsTheModeThatItHadBefore) {
  for (const bool together : {false, true}) {
    const std::string d = together ? "one" : "two";
    workspace_.write(d + "/x", "x\n");
    ASSERT_TRUE(workspace_.root().set_mode(rel(d), 0755).has_value());
    std::vector<TxId> ids;
    ids.push_back(workspace_.commit([&](Overlay& o) { OK(o.remove_tree(rel(d))); }));
    ids.push_back(workspace_.commit([&](Overlay& o) {
      OK(o.make_directory(rel(d)));
      OK(o.set_mode(rel(d), 0700));
      OK(o.write(rel(d + "/own"), "own\n"));
    }));
    workspace_.write(d + "/mine", "mine\n");
    if (together) {
      workspace_.publish_plan(
          plan_undo_together(workspace_.history(), workspace_.root(), ids, workspace_.clock(), {}));
    } else {
      workspace_.undo(ids[1]);
      workspace_.undo(ids[0]);
    }
    EXPECT_EQ(workspace_.root().stat(rel(d))->mode, 0755U) << d;
    EXPECT_EQ(workspace_.read(d + "/x"), "x\n");
    EXPECT_EQ(workspace_.read(d + "/mine"), "mine\n");
  }
}

TEST_F(UndoTest, SeveralUndoneTogetherCountTheMarkersOfEachOfThem) {
  workspace_.write("f", "1\n2\n3\n4\n5\n6\n7\n8\n");
  const TxId first = workspace_.commit_file("f", "1\ntwo\n3\n4\n5\n6\n7\n8\n");
  const TxId last = workspace_.commit_file("f", "1\ntwo\n3\n4\n5\n6\nseven\n8\n");
  workspace_.write("f", "1\nperson\n3\n4\n5\n6\nseven\n8\n");
  UndoOptions options;
  options.mode = MergeMode::kMarkers;
  const auto outcome = plan_undo_together(workspace_.history(), workspace_.root(), {first, last},
                                          workspace_.clock(), options);
  OK(outcome);
  const auto& merged = std::get<UndoPlan>(*outcome).merged;
  ASSERT_EQ(merged.size(), 1U);
  EXPECT_GT(merged[0].markers, 0U);
}

TEST_F(UndoTest, HunksOfOneFileMayBeNamedOneByOne) {
  const auto text_with = [](const std::set<int>& changed) {
    std::string text;
    for (int line = 1; line <= 60; ++line) {
      text += (changed.contains(line) ? "new " : "") + std::to_string(line) + "\n";
    }
    return text;
  };
  workspace_.write("f", text_with({}));
  const TxId id = workspace_.commit_file("f", text_with({10, 30, 50}));
  UndoOptions options;
  options.hunks = {{rel("f"), {1}}, {rel("f"), {3}}};
  workspace_.undo(id, options);
  EXPECT_EQ(workspace_.read("f"), text_with({30}));
}

TEST_F(UndoTest, UndoesModes) {
  workspace_.write("run.sh", "#!/bin/sh\n", 0644);
  expect_round_trip([](Overlay& o) { OK(o.set_mode(rel("run.sh"), 0755)); });
}

TEST_F(UndoTest, UndoesAModeAndKeepsALaterContent) {
  workspace_.write("run.sh", "1\n", 0644);
  const TxId id = workspace_.commit([](Overlay& o) { OK(o.set_mode(rel("run.sh"), 0755)); });
  workspace_.commit_file("run.sh", "2\n");
  workspace_.undo(id);
  EXPECT_EQ(workspace_.read("run.sh"), "2\n");
  EXPECT_EQ(workspace_.root().stat(rel("run.sh"))->mode, 0644U);
  const TxId again = workspace_.commit([](Overlay& o) { OK(o.set_mode(rel("run.sh"), 0755)); });
  workspace_.write("run.sh", "by hand\n", 0700);
  EXPECT_EQ(conflict_of(again).paths.at(0).reason, "conflict.mode");
}

TEST_F(UndoTest, UndoesLinksAndChangesOfKind) {
  workspace_.write("file", "content\n");
  ASSERT_TRUE(workspace_.root().make_symlink(rel("link"), "file").has_value());
  expect_round_trip([](Overlay& o) {
    OK(o.make_symlink(rel("fresh"), "nowhere"));
    OK(o.remove(rel("link")));
    OK(o.write(rel("link"), "now a file\n"));
    OK(o.remove(rel("file")));
    OK(o.make_directory(rel("file")));
    OK(o.write(rel("file/inside"), "x\n"));
  });
}

TEST_F(UndoTest, UndoesSeveralTransactionsThatMadeMovedAndChangedALink) {
  workspace_.write("a.txt", "a\n");
  const Tree before = workspace_.tree();
  std::vector<TxId> ids;
  ids.push_back(workspace_.commit([](Overlay& o) { OK(o.make_symlink(rel("link"), "a.txt")); }));
  ids.push_back(workspace_.commit([](Overlay& o) { OK(o.move(rel("link"), rel("moved"))); }));
  ids.push_back(workspace_.commit([](Overlay& o) {
    OK(o.remove(rel("moved")));
    OK(o.make_symlink(rel("moved"), "b.txt"));
  }));
  const Tree after = workspace_.tree();
  const TxId undo = workspace_.publish_plan(
      plan_undo_together(workspace_.history(), workspace_.root(), ids, workspace_.clock(), {}));
  EXPECT_EQ(workspace_.tree(), before);
  workspace_.undo(undo);
  EXPECT_EQ(workspace_.tree(), after);
}

TEST_F(UndoTest, UndoesRenamesSwapsAndMovedDirectories) {
  workspace_.write("a.txt", "a\n");
  workspace_.write("b.txt", "b\n");
  workspace_.write("d/one", "1\n");
  workspace_.write("d/sub/two", "2\n", 0755);
  expect_round_trip([](Overlay& o) {
    OK(o.move(rel("a.txt"), rel("tmp")));
    OK(o.move(rel("b.txt"), rel("a.txt")));
    OK(o.move(rel("tmp"), rel("b.txt")));
    OK(o.move(rel("d"), rel("e")));
  });
}

TEST_F(UndoTest, UndoesALinkThatReplacedADirectory) {
  workspace_.write("d/sub/a.txt", "a\n");
  workspace_.write("other/sub/a.txt", "theirs\n");
  expect_round_trip([](Overlay& o) {
    OK(o.remove_tree(rel("d")));
    OK(o.make_symlink(rel("d"), "other"));
  });
  EXPECT_EQ(workspace_.read("other/sub/a.txt"), "theirs\n");
}

TEST_F(UndoTest, UndoesAnOlderTransactionAndKeepsNewerOnesOnOtherPaths) {
  workspace_.write("a.txt", "a\n");
  const TxId first = workspace_.commit_file("a.txt", "A\n");
  workspace_.commit_file("b.txt", "b\n");
  workspace_.undo(first);
  EXPECT_EQ(workspace_.read("a.txt"), "a\n");
  EXPECT_EQ(workspace_.read("b.txt"), "b\n");
}

TEST_F(UndoTest, RefusesWithADiffWhenTheFileChangedSince) {
  workspace_.write("a.txt", "old\n");
  const TxId id = workspace_.commit_file("a.txt", "new\n");
  workspace_.write("a.txt", "newer\n");
  const UndoConflict conflict = conflict_of(id);
  ASSERT_EQ(conflict.paths.size(), 1U);
  EXPECT_EQ(conflict.paths[0].path, rel("a.txt"));
  EXPECT_NE(conflict.paths[0].diff.find("-new\n+newer\n"), std::string::npos);
  EXPECT_EQ(workspace_.read("a.txt"), "newer\n");
}

TEST_F(UndoTest, ConflictNamesTheTransactionsThatBuiltOnIt) {
  workspace_.write("src/a.c", "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
  const TxId first = workspace_.commit_file("src/a.c", "1\n2\nthree\n4\n5\n6\n7\n8\n9\n");
  const TxId second = workspace_.commit_file("src/a.c", "1\n2\nTHREE\n4\n5\n6\n7\n8\n9\n");
  const UndoConflict conflict = conflict_of(first);
  ASSERT_EQ(conflict.dependencies.size(), 1U);
  EXPECT_EQ(conflict.dependencies[0].later, second);
  EXPECT_TRUE(conflict.dependencies[0].same_lines);
  EXPECT_EQ(conflict.dependencies[0].text(), "2 builds on 1 in src/a.c");
}

TEST_F(UndoTest, AnUndoneTransactionIsNotADependency) {
  workspace_.write("a.txt", "0\n");
  const TxId first = workspace_.commit_file("a.txt", "1\n");
  const TxId second = workspace_.commit_file("a.txt", "2\n");
  workspace_.undo(second);
  workspace_.write("a.txt", "outside\n");
  EXPECT_TRUE(conflict_of(first).dependencies.empty());
}

TEST_F(UndoTest, MergesWithLaterChangesOfOtherLinesAndReportsThem) {
  const std::string base = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
  workspace_.write("a.txt", base);
  const TxId first = workspace_.commit_file("a.txt", "1\nTWO\n3\n4\n5\n6\n7\n8\n9\n");
  workspace_.commit_file("a.txt", "1\nTWO\n3\n4\n5\n6\n7\nEIGHT\n9\n");
  const auto outcome =
      plan_undo(workspace_.history(), workspace_.root(), first, workspace_.clock());
  ASSERT_TRUE(outcome.has_value() && std::holds_alternative<UndoPlan>(*outcome));
  const auto& plan = std::get<UndoPlan>(*outcome);
  EXPECT_EQ(plan.merged.size(), 1U);
  ASSERT_EQ(plan.dependencies.size(), 1U);
  EXPECT_FALSE(plan.dependencies[0].same_lines);
  workspace_.publish_plan(outcome);
  EXPECT_EQ(workspace_.read("a.txt"), "1\n2\n3\n4\n5\n6\n7\nEIGHT\n9\n");
}

TEST_F(UndoTest, FollowsAFileThatWasRenamedSince) {
  workspace_.write("a.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
  const TxId first = workspace_.commit_file("a.txt", "1\nTWO\n3\n4\n5\n6\n7\n8\n9\n");
  workspace_.commit([](Overlay& o) {
    OK(o.move(rel("a.txt"), rel("d/b.txt")));
    OK(o.write(rel("d/b.txt"), "1\nTWO\n3\n4\n5\n6\n7\n8\nNINE\n"));
  });
  workspace_.undo(first);
  EXPECT_EQ(workspace_.read("d/b.txt"), "1\n2\n3\n4\n5\n6\n7\n8\nNINE\n");
  EXPECT_FALSE(workspace_.exists("a.txt"));
}

TEST_F(UndoTest, UndoOfARenameKeepsLaterEdits) {
  workspace_.write("a.txt", "1\n2\n3\n");
  const TxId id = workspace_.commit([](Overlay& o) { OK(o.move(rel("a.txt"), rel("d/b.txt"))); });
  workspace_.write("d/b.txt", "1\n2\n3\nby hand\n");
  workspace_.undo(id);
  EXPECT_EQ(workspace_.read("a.txt"), "1\n2\n3\nby hand\n");
  EXPECT_FALSE(workspace_.exists("d"));
}

TEST_F(UndoTest, UndoesOneHunkAndKeepsLaterChanges) {
  std::string before;
  for (int i = 1; i <= 40; ++i) before += std::to_string(i) + "\n";
  workspace_.write("a.txt", before);
  std::string after = before;
  after.replace(after.find("5\n"), 2, "five\n");
  after.replace(after.find("30\n"), 3, "thirty\n");
  const TxId id = workspace_.commit_file("a.txt", after);
  workspace_.write("a.txt", "0\n" + after);
  UndoOptions options;
  options.hunks = {{rel("a.txt"), {2}}};
  workspace_.undo(id, options);
  std::string expected = "0\n" + after;
  expected.replace(expected.find("thirty\n"), 7, "30\n");
  EXPECT_EQ(workspace_.read("a.txt"), expected);
}

TEST_F(UndoTest, KeepsADirectoryWithALaterFile) {
  const TxId id = workspace_.commit([](Overlay& o) { OK(o.write(rel("d/mine"), "1\n")); });
  workspace_.write("d/theirs", "2\n");
  workspace_.undo(id);
  EXPECT_FALSE(workspace_.exists("d/mine"));
  EXPECT_EQ(workspace_.read("d/theirs"), "2\n");
}

TEST_F(UndoTest, DoesNotReplaceADirectoryWithALaterFile) {
  workspace_.write("x", "file\n");
  const TxId id = workspace_.commit([](Overlay& o) {
    OK(o.remove(rel("x")));
    OK(o.write(rel("x/in"), "1\n"));
  });
  workspace_.write("x/theirs", "2\n");
  const UndoConflict conflict = conflict_of(id);
  ASSERT_EQ(conflict.paths.size(), 1U);
  EXPECT_EQ(conflict.paths[0].reason, "conflict.not_empty");
}

TEST_F(UndoTest, DoesNotDeleteACreatedFileThatWasEdited) {
  const TxId id = workspace_.commit_file("a.txt", "mine\n");
  workspace_.write("a.txt", "mine\nand theirs\n");
  EXPECT_EQ(conflict_of(id).paths.at(0).reason, "conflict.changed");
}

TEST_F(UndoTest, DoesNotPutADeletedFileOverANewOne) {
  workspace_.write("a.txt", "old\n");
  const TxId id = workspace_.commit([](Overlay& o) { OK(o.remove(rel("a.txt"))); });
  workspace_.write("a.txt", "new\n");
  EXPECT_EQ(conflict_of(id).paths.at(0).reason, "conflict.exists");
}

TEST_F(UndoTest, RestoresTheDirectoryOfADeletedFile) {
  workspace_.write("d/a", "1\n");
  workspace_.write("d/b", "2\n");
  const TxId first = workspace_.commit([](Overlay& o) { OK(o.remove(rel("d/a"))); });
  workspace_.commit([](Overlay& o) { OK(o.remove(rel("d/b"))); });
  ASSERT_FALSE(workspace_.exists("d"));
  workspace_.undo(first);
  EXPECT_EQ(workspace_.read("d/a"), "1\n");
}

TEST_F(UndoTest, UndoesOnlyTheNamedPaths) {
  workspace_.write("a.txt", "a\n");
  workspace_.write("d/b.txt", "b\n");
  const TxId id = workspace_.commit([](Overlay& o) {
    OK(o.write(rel("a.txt"), "A\n"));
    OK(o.write(rel("d/b.txt"), "B\n"));
    OK(o.write(rel("d/e/new.txt"), "N\n"));
  });
  UndoOptions options;
  options.paths = {rel("d")};
  const TxId undo = workspace_.undo(id, options);
  EXPECT_EQ(workspace_.read("a.txt"), "A\n");
  EXPECT_EQ(workspace_.read("d/b.txt"), "b\n");
  EXPECT_FALSE(workspace_.exists("d/e"));
  const auto summary = workspace_.history().summary(id);
  EXPECT_EQ(summary->undone_by, std::nullopt);
  EXPECT_EQ(summary->partly_undone_by, std::vector<TxId>{undo});
}

TEST_F(UndoTest, UndoesBothPathsOfARenameIfOneIsNamed) {
  workspace_.write("a.txt", "a\n");
  workspace_.write("c.txt", "c\n");
  const TxId id = workspace_.commit([](Overlay& o) {
    OK(o.move(rel("a.txt"), rel("b.txt")));
    OK(o.write(rel("c.txt"), "C\n"));
  });
  UndoOptions options;
  options.paths = {rel("b.txt")};
  workspace_.undo(id, options);
  EXPECT_EQ(workspace_.read("a.txt"), "a\n");
  EXPECT_FALSE(workspace_.exists("b.txt"));
  EXPECT_EQ(workspace_.read("c.txt"), "C\n");
}

TEST_F(UndoTest, UndoesOnlyTheNamedHunks) {
  std::string before;
  for (int i = 1; i <= 40; ++i) before += std::to_string(i) + "\n";
  workspace_.write("a.txt", before);
  std::string both = before;
  both.replace(both.find("5\n"), 2, "five\n");
  std::string second_only = before;
  second_only.replace(second_only.find("30\n"), 3, "thirty\n");
  both.replace(both.find("30\n"), 3, "thirty\n");
  const TxId id = workspace_.commit_file("a.txt", both);
  UndoOptions options;
  options.hunks = {{rel("a.txt"), {1}}};
  workspace_.undo(id, options);
  EXPECT_EQ(workspace_.read("a.txt"), second_only);
}

TEST_F(UndoTest, UnknownPathsHunksAndTransactionsAreErrors) {
  workspace_.write("a.txt", "1\n");
  const TxId id = workspace_.commit_file("a.txt", "2\n");
  const auto reason = [&](TxId tx, const UndoOptions& options) {
    return plan_undo(workspace_.history(), workspace_.root(), tx, workspace_.clock(), options)
        .error()
        .reason;
  };
  UndoOptions path;
  path.paths = {rel("b.txt")};
  EXPECT_EQ(reason(id, path), "undo.unknown_path");
  UndoOptions hunk;
  hunk.hunks = {{rel("a.txt"), {2}}};
  EXPECT_EQ(reason(id, hunk), "undo.unknown_hunk");
  EXPECT_EQ(reason(TxId{9}, {}), "history.not_found");
  EXPECT_EQ(
      plan_redo(workspace_.history(), workspace_.root(), id, workspace_.clock()).error().reason,
      "undo.not_undone");
  EXPECT_EQ(plan_newest_redo(workspace_.history(), workspace_.root(), {}, workspace_.clock())
                .error()
                .reason,
            "history.nothing_to_redo");
}

TEST_F(UndoTest, HasNothingToUndoIfTheTreeIsAlreadyAsBefore) {
  workspace_.write("a.txt", "1\n");
  const TxId id = workspace_.commit_file("a.txt", "2\n");
  workspace_.write("a.txt", "1\n");
  const auto outcome = plan_undo(workspace_.history(), workspace_.root(), id, workspace_.clock());
  ASSERT_TRUE(outcome.has_value());
  EXPECT_TRUE(std::holds_alternative<NothingToUndo>(*outcome));
}

TEST_F(UndoTest, RedoRevertsTheNewestUndoFirst) {
  workspace_.write("a.txt", "0\n");
  const TxId first = workspace_.commit_file("a.txt", "1\n");
  const TxId second = workspace_.commit_file("a.txt", "2\n");
  workspace_.undo(second);
  workspace_.undo(first);
  EXPECT_EQ(workspace_.read("a.txt"), "0\n");
  workspace_.redo();
  EXPECT_EQ(workspace_.read("a.txt"), "1\n");
  workspace_.redo();
  EXPECT_EQ(workspace_.read("a.txt"), "2\n");
}

TEST_F(UndoTest, ADirectoryReplacedByALinkIsAConflict) {
  workspace_.write("d/a.txt", "1\n");
  const TxId id = workspace_.commit_file("d/a.txt", "2\n");
  ASSERT_TRUE(remove_tree(workspace_.root(), rel("d")).has_value());
  ASSERT_TRUE(workspace_.root().make_symlink(rel("d"), "/etc").has_value());
  EXPECT_EQ(conflict_of(id).paths.at(0).reason, "conflict.parent");
}

}  // namespace
}  // namespace galley
