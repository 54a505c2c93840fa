#include "engine/history/rebase.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <variant>
#include <vector>

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

TEST_F(RebaseTest, ARenamedFileWithMarkersHasItsNewName) {
  workspace_.write("old.txt", "1\n");
  const Proposal change = propose([](Overlay& o) {
    OK(o.move(rel("old.txt"), rel("new.txt")));
    OK(o.write(rel("new.txt"), "mine\n"));
  });
  workspace_.write("old.txt", "theirs\n");
  RebaseOptions options;
  options.mode = MergeMode::kMarkers;
  const Rebased rebased = fits(change, options);
  ASSERT_EQ(rebased.merged.size(), 1U);
  EXPECT_EQ(rebased.merged[0].path, rel("new.txt"));
  EXPECT_EQ(rebased.merged[0].markers, 1U);
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

TEST_F(RebaseTest, WhatIsBehindALinkThatIsBackIsGoneAlready) {
  OK(workspace_.root().make_symlink(rel("l"), "aim"));
  const Proposal made = propose([](Overlay& o) {
    OK(o.remove(rel("l")));
    OK(o.write(rel("l/z"), "z\n"));
  });
  ChangeSet back;
  for (const Change& one : made.changes())
    back.push_back({one.path, one.after, one.before, {}, {}, {}});
  const Proposal undo = Proposal::from(back, made.store());
  EXPECT_TRUE(fits(undo).proposal.is_empty());
  workspace_.write("aim/z", "z\n");  // the same name is also behind the link
  EXPECT_TRUE(fits(undo).proposal.is_empty());
  OK(workspace_.root().remove_file(rel("l")));
  OK(workspace_.root().make_symlink(rel("l"), "other"));
  const RebaseOutcome elsewhere = run(undo);
  const auto* misfits = std::get_if<RebaseConflict>(&elsewhere);
  ASSERT_NE(misfits, nullptr);
  EXPECT_EQ(misfits->paths.back().path, rel("l/z"));
  EXPECT_EQ(misfits->paths.back().reason, "conflict.parent");
  // Nothing is put through a link, also not through one that the change wants.
  OK(workspace_.root().remove_file(rel("l")));
  OK(workspace_.root().make_symlink(rel("l"), "aim"));
  for (Change& one : back) {
    if (one.path == rel("l/z")) std::swap(one.before, one.after);
  }
  EXPECT_EQ(conflict(Proposal::from(back, made.store())).reason, "conflict.parent");
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

// --- resolutions ------------------------------------------------------------------------------

using Side = Resolution::Side;

TEST_F(RebaseTest, AChoiceForEachHunkDecidesThemAndKeepsTheOtherLines) {
  workspace_.write("a.txt", numbers(1, 30));
  const Proposal change = propose([](Overlay& o) {
    std::string text = with(numbers(1, 30), "\n3\n", "\nmine 3\n");
    text = with(text, "\n10\n", "\nmine 10\n");
    text = with(text, "\n20\n", "\nmine 20\n");
    OK(o.write(rel("a.txt"), with(text, "\n29\n", "\nmine 29\n")));
  });
  std::string theirs = with(numbers(1, 30), "\n10\n", "\ntheirs 10\n");
  theirs = with(theirs, "\n15\n", "\ntheirs 15\n");
  theirs = with(theirs, "\n20\n", "\ntheirs 20\n");
  workspace_.write("a.txt", with(theirs, "\n29\n", "\ntheirs 29\n"));
  const PathConflict found = conflict(change);
  ASSERT_EQ(found.hunks.size(), 3U);
  RebaseOptions options;
  options.resolutions[found.path] = {
      {{Side::kBase, {}}, {Side::kText, "both 20\n"}, {Side::kFound, {}}}, false, found.version()};
  const Rebased rebased = fits(change, options);
  EXPECT_EQ(rebased.merged.at(0).how, "resolved");
  workspace_.publish(rebased.proposal, {});
  std::string expected = with(numbers(1, 30), "\n3\n", "\nmine 3\n");
  expected = with(expected, "\n15\n", "\ntheirs 15\n");
  expected = with(expected, "\n20\n", "\nboth 20\n");
  EXPECT_EQ(workspace_.read("a.txt"), with(expected, "\n29\n", "\ntheirs 29\n"));
}

TEST_F(RebaseTest, ADecisionAboutOtherSidesIsAnError) {
  workspace_.write("a.txt", "1\n");
  const Proposal change = propose([](Overlay& o) { OK(o.write(rel("a.txt"), "mine\n")); });
  workspace_.write("a.txt", "theirs\n");
  const PathConflict found = conflict(change);
  const auto reason = [&](const Resolution& resolution) {
    RebaseOptions options;
    options.resolutions[found.path] = resolution;
    const auto outcome = rebase(change, workspace_.root(), workspace_.clock(), options);
    return outcome ? std::string("fits") : outcome.error().reason;
  };
  const std::string version = found.version();
  EXPECT_EQ(reason({{}, false, version}), "resolve.choices");
  EXPECT_EQ(reason({{{Side::kFound, {}}, {Side::kFound, {}}}, false, version}), "resolve.choices");
  EXPECT_EQ(reason({{{Side::kText, "no newline"}}, false, version}), "resolve.choices");
  EXPECT_EQ(reason({{{Side::kText, "no newline"}}, true, version}), "fits");
  EXPECT_EQ(reason({{{Side::kWanted, {}}}, false, "0123456789ab"}), "resolve.changed");
  EXPECT_EQ(reason({{{Side::kWanted, {}}}, false, version}), "fits");
  workspace_.write("a.txt", "theirs again\n");
  EXPECT_EQ(reason({{{Side::kWanted, {}}}, false, version}), "resolve.changed");
}

TEST_F(RebaseTest, ConflictsWithoutLinesAreDecidedAsAWhole) {
  const std::string binary("\0base", 5);
  workspace_.write("bin", binary);
  workspace_.write("gone", "1\n");
  workspace_.write("mode", "1\n", 0644);
  const Proposal change = propose([](Overlay& o) {
    OK(o.write(rel("bin"), std::string("\0mine", 5)));
    OK(o.write(rel("gone"), "2\n"));
    OK(o.write(rel("new"), "mine\n"));
    OK(o.set_mode(rel("mode"), 0700));
  });
  workspace_.write("bin", std::string("\0theirs", 7));
  OK(workspace_.root().remove_file(rel("gone")));
  workspace_.write("new", "theirs\n");
  workspace_.write("mode", "1\n", 0755);
  const RebaseOutcome outcome = run(change);
  const auto& conflicts = std::get<RebaseConflict>(outcome).paths;
  ASSERT_EQ(conflicts.size(), 4U);
  RebaseOptions options;
  for (const PathConflict& each : conflicts) {
    const bool is_hunks = each.path.str() == "new";
    options.resolutions[each.path] = {
        {{is_hunks ? Side::kText : Side::kWanted, "both\n"}}, true, each.version()};
  }
  workspace_.publish(fits(change, options).proposal, {});
  EXPECT_EQ(workspace_.read("bin"), std::string("\0mine", 5));
  EXPECT_EQ(workspace_.read("gone"), "2\n");
  EXPECT_EQ(workspace_.read("new"), "both\n");
  EXPECT_EQ(workspace_.root().stat(rel("mode"))->mode, 0700U);
}

TEST_F(RebaseTest, TheTextOfADecisionGetsTheFormOfTheFileOnDisk) {
  struct Case {
    std::string base, mine, theirs, text, result;
    bool is_whole = false;
  };
  const auto wide = [](const std::string& text) {
    std::string out = "\xFF\xFE";
    for (const char c : text) out += {c, '\0'};
    return out;
  };
  const std::string mark = "\xEF\xBB\xBF";
  const std::vector<Case> cases = {
      {"a\r\nb\r\nc\r\n", "a\r\nB\r\nc\r\n", "a\r\nbb\r\nc\r\n", "x\ny\n", "a\r\nx\r\ny\r\nc\r\n"},
      {"a\xE9\r\nb\r\n", "a\xE9\r\nB\r\n", "a\xE9\r\nbb\r\n", "x\n", "a\xE9\r\nx\r\n"},
      {"a\xE9\nb\n", "a\xE9\nB\n", "a\xE9\nb\xE9\n", "b\xC3\xA9\n", "patch.encoding"},
      {"a\xE9\nb\n", "a\xE9\nB\n", "a\xE9\nb\xE9\n", "b\xEF\xBF\xBD\n", "resolve.encoding"},
      {"a\xE9\nb\n", "a\xE9\nB\n", "a\xE9\nbb\n", "\xC3\xA9\n", "resolve.encoding", true},
      {"a\xE9\nb\n", "a\xE9\nB\n", "a\xE9\nbb\n", "e\n", "e\n", true},
      {"b\xEF\xBF\xBD\n", "B\n", "bb\n", "b\xEF\xBF\xBD\n", "b\xEF\xBF\xBD\n"},
      {wide("a\nb\n"), wide("a\nB\n"), wide("a\nbb\n"), "a\nx\n", wide("a\nx\n"), true},
      {mark + "a\n", mark + "A\n", mark + "aa\n", "x\n", mark + "x\n"},
      {mark + "a\n", mark + "A\n", mark + "aa\n", mark + "x\n", mark + "x\n", true},
      {"a\rb\r", "a\rB\r", "a\rbb\r", "a\nx\n", "a\rx\r"},
  };
  for (const Case& each : cases) {
    workspace_.write("a.txt", each.base);
    const Proposal change = propose([&](Overlay& o) { OK(o.write(rel("a.txt"), each.mine)); });
    workspace_.write("a.txt", each.theirs);
    const PathConflict found = conflict(change);
    RebaseOptions options;
    options.resolutions[found.path] = {{{Side::kText, each.text}}, each.is_whole, found.version()};
    const auto outcome = rebase(change, workspace_.root(), workspace_.clock(), options);
    if (!outcome) {
      EXPECT_EQ(outcome.error().reason, each.result) << outcome.error().message;
      continue;
    }
    workspace_.publish(std::get<Rebased>(*outcome).proposal, {});
    EXPECT_EQ(workspace_.read("a.txt"), each.result);
  }
}

TEST_F(RebaseTest, AWholeTextKeepsTheEncodingOfAFileThatIsOnOneSideOnly) {
  workspace_.write("gone", "1\n");
  const std::string mark = "\xEF\xBB\xBF";
  const Proposal change = propose([&](Overlay& o) {
    OK(o.write(rel("gone"), mark + "2\n"));
    OK(o.write(rel("new"), "mine\n"));
  });
  OK(workspace_.root().remove_file(rel("gone")));
  workspace_.write("new", mark + "theirs\n");
  const RebaseOutcome outcome = run(change);
  RebaseOptions options;
  for (const PathConflict& each : std::get<RebaseConflict>(outcome).paths) {
    options.resolutions[each.path] = {{{Side::kText, "both\n"}}, true, each.version()};
  }
  workspace_.publish(fits(change, options).proposal, {});
  EXPECT_EQ(workspace_.read("gone"), mark + "both\n");
  EXPECT_EQ(workspace_.read("new"), mark + "both\n");
}

TEST_F(RebaseTest, FittingChangesAreRebasedAndTheRestIsNamed) {
  workspace_.write("a.txt", "1\n");
  workspace_.write("b.txt", numbers(1, 20));
  workspace_.write("old.txt", numbers(1, 20));
  const Proposal change = propose([](Overlay& o) {
    OK(o.write(rel("a.txt"), "mine\n"));
    OK(o.write(rel("b.txt"), with(numbers(1, 20), "\n3\n", "\nmine\n")));
    OK(o.move(rel("old.txt"), rel("new.txt")));
    OK(o.write(rel("new.txt"), with(numbers(1, 20), "\n3\n", "\nmine\n")));
  });
  workspace_.write("a.txt", "theirs\n");
  workspace_.write("b.txt", with(numbers(1, 20), "\n15\n", "\ntheirs\n"));
  workspace_.write("old.txt", with(numbers(1, 20), "\n3\n", "\ntheirs\n"));
  const auto partial = rebase_what_fits(change, workspace_.root(), workspace_.clock());
  ASSERT_TRUE(partial) << partial.error().message;
  ASSERT_EQ(partial->conflicts.size(), 2U);
  EXPECT_EQ(partial->conflicts[0].path.str(), "old.txt");
  EXPECT_EQ(partial->conflicts[1].path.str(), "a.txt");
  std::set<std::string> left;
  for (const RelPath& path : partial->left) left.insert(path.str());
  EXPECT_EQ(left, (std::set<std::string>{"a.txt", "new.txt", "old.txt"}));
  ASSERT_EQ(partial->fits.proposal.changes().size(), 1U);
  EXPECT_EQ(partial->fits.proposal.changes()[0].path.str(), "b.txt");
}

}  // namespace
}  // namespace galley
