#include <gtest/gtest.h>

#include <cerrno>

#include "crash/cases.h"
#include "doubles/memory_directory.h"
#include "doubles/model_directory.h"
#include "engine/commit/history_reader.h"
#include "engine/commit/leftovers.h"

namespace galley {
namespace {

const CrashCase kFiveFiles = {"five files",
                              [](const WritableDirectory& ws) {
                                for (const auto* name : {"a", "b", "c", "d"}) {
                                  put_file(ws, name, std::string("old ") + name);
                                }
                              },
                              [](ChangeBuilder& c) {
                                c.write("a", "new a").write("b", "new b").remove("c");
                                c.mode("d", 0755).write("e", "new e");
                              }};

/// A workspace whose journal is committed and whose apply step never began.
struct Unapplied {
  CaseWorkspace workspace;
  std::string journal;
};

Unapplied stop_after_commit_point() {
  Unapplied result;
  const auto calls = [&] {
    const auto workspace = make_case(kFiveFiles);
    const auto plan = std::make_shared<FaultPlan>();
    static_cast<void>(publish(*make_fault_directory(open_memory_tree(workspace.tree), plan),
                              *workspace.proposal));
    return plan->calls;
  }();
  size_t at = calls.size();
  while (at > 0 && !calls[at - 1].is_sync()) --at;
  result.workspace = make_case(kFiveFiles);
  const auto plan = std::make_shared<FaultPlan>();
  plan->at = at + 1;
  plan->kills = true;
  static_cast<void>(publish(*make_fault_directory(open_memory_tree(result.workspace.tree), plan),
                            *result.workspace.proposal));
  result.journal = read_file(*result.workspace.directory, rel(".galley/j/2.j"), 1U << 20U).value();
  return result;
}

/// A copy of the stopped workspace with these bytes where its journal is.
std::unique_ptr<WritableDirectory> with_journal(const Unapplied& stopped,
                                                const std::string& bytes) {
  const PowerLossModel copier(stopped.workspace.tree);
  auto directory = open_memory_tree(copier.after_power_loss({}));
  auto file = directory->open_writable_file(rel(".galley/j/2.j"), OpenMode::kReadWrite);
  EXPECT_TRUE(file && (*file)->truncate(0) && (*file)->write_at(0, bytes));
  return directory;
}

/// The tree is old, or new, or it was refused and not touched.
void judge(CrashRow& row, const std::string& bytes, const Unapplied& stopped,
           const std::string& where) {
  const auto directory = with_journal(stopped, bytes);
  const CaseWorkspace& sample = stopped.workspace;
  const auto report = reopen(*directory);
  if (!report) {
    ASSERT_EQ(report.error().reason, "journal.damaged") << where;
    ASSERT_EQ(picture_of(*directory), sample.before) << where;
    ASSERT_EQ(directory->stat(rel(".galley/j/2.j"))->kind, FileKind::kRegular) << where;
    row.add_refused();
    return;
  }
  row.judge(*directory, sample.before, sample.after, where);
}

TEST(JournalDamage, OnlyTheWholeJournalLeavesTheNewTree) {
  const auto stopped = stop_after_commit_point();
  CrashRow row("journal truncated at every length");
  for (size_t size = 0; size <= stopped.journal.size(); ++size) {
    judge(row, stopped.journal.substr(0, size), stopped, "length " + std::to_string(size));
    if (HasFailure()) return;
  }
  EXPECT_EQ(row.new_trees(), 1U) << "only the whole journal counts";
}

TEST(JournalDamage, AFlippedBitIsNeverTakenForAMissingCommit) {
  const auto stopped = stop_after_commit_point();
  CrashRow row("journal, every bit flipped");

  for (size_t bit = 0; bit < stopped.journal.size() * 8; ++bit) {
    std::string bytes = stopped.journal;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
    judge(row, bytes, stopped, "bit " + std::to_string(bit));
    if (HasFailure()) return;
  }
  EXPECT_EQ(row.old_trees(), 0U) << "a flipped bit must not look like never happened";
}

TEST(JournalDamage, ARemovedOrRepeatedBlockLeavesNoMixedTree) {
  const auto stopped = stop_after_commit_point();
  CrashRow row("journal spliced");
  constexpr size_t kBlock = 64;
  for (size_t at = 0; at < stopped.journal.size(); at += kBlock / 4) {
    std::string removed = stopped.journal;
    removed.erase(at, kBlock);
    judge(row, removed, stopped, "removed at " + std::to_string(at));
    std::string doubled = stopped.journal;
    doubled.insert(at, doubled.substr(at, kBlock));
    judge(row, doubled, stopped, "doubled at " + std::to_string(at));
    if (HasFailure()) return;
  }
}

TEST(JournalDamage, AJournalOfAnotherWorkspaceOrUnderAnotherIdIsRefused) {
  const auto stopped = stop_after_commit_point();
  const WritableDirectory& ws = *stopped.workspace.directory;
  ASSERT_TRUE(ws.rename(rel(".galley/j/2.j"), ws, rel(".galley/j/7.j"), RenameMode::kNoReplace));
  const auto moved = reopen(ws);
  ASSERT_FALSE(moved);
  EXPECT_EQ(moved.error().reason, "journal.damaged");
  EXPECT_EQ(picture_of(ws), stopped.workspace.before);

  // Not make_case: all that it makes of one shape have the same workspace id.
  const auto other = open_memory_tree(std::make_shared<MemoryTree>());
  prepare_case(kFiveFiles, *other);
  const TreePicture before = picture_of(*other);
  put_file(*other, ".galley/j/2.j", stopped.journal);
  const auto foreign = reopen(*other);
  ASSERT_FALSE(foreign);
  EXPECT_EQ(foreign.error().reason, "journal.damaged");
  EXPECT_EQ(picture_of(*other), before);
}

TEST(JournalDamage, AfterQuarantineTheWorkspaceIsUsable) {
  const auto stopped = stop_after_commit_point();
  std::string bytes = stopped.journal;
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  const auto directory = with_journal(stopped, bytes);
  ASSERT_FALSE(reopen(*directory));
  const auto refused = publish(*directory, ChangeBuilder(*directory).write("x", "x").proposal());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason, "journal.damaged");
  {
    static const SystemClock clock;
    const auto state = StateDirectory::open(*directory);
    auto lock = WriterLock::take(**state, clock, std::chrono::milliseconds(0));
    ASSERT_TRUE(lock);
    EXPECT_EQ(*quarantine_damaged(*directory, **state, *lock), std::vector<TxId>{TxId{2}});
  }
  EXPECT_EQ(read_file(*directory, in_state(*directory, "quarantine/2/2.j"), 1U << 20U).value(),
            bytes);
  EXPECT_TRUE(reopen(*directory));
  const auto next = publish(*directory, ChangeBuilder(*directory).write("x", "x").proposal());
  ASSERT_TRUE(next) << next.error().message;
  EXPECT_TRUE(std::holds_alternative<Receipt>(*next));
}

TEST(JournalDamage, ForeignFilesInTheStateDirectoryAreLeftAlone) {
  const auto workspace = make_case(kFiveFiles);
  const WritableDirectory& ws = *workspace.directory;
  for (const auto* name : {".galley/j/notes.txt", ".galley/j/zz.j", ".galley/undo/x",
                           ".galley/slot/readme", ".galley/mine"}) {
    put_file(ws, name, "mine");
  }
  ASSERT_TRUE(reopen(ws));
  const auto done = publish(ws, *workspace.proposal);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(picture_of(ws), workspace.after);
  for (const auto* name : {".galley/j/notes.txt", ".galley/j/zz.j", ".galley/undo/x",
                           ".galley/slot/readme", ".galley/mine"}) {
    EXPECT_EQ(read_file(ws, rel(name), 100).value(), "mine") << name;
  }
}

TEST(Recovery, ADryRunReportsActionsAndChangesNothing) {
  const auto stopped = stop_after_commit_point();
  const WritableDirectory& ws = *stopped.workspace.directory;
  const auto report = reopen(ws, kBoot, true);
  ASSERT_TRUE(report) << report.error().message;
  std::map<std::string, RecoveryAction::Kind> kinds;
  for (const auto& action : report->actions) kinds[action.path] = action.kind;
  EXPECT_EQ(kinds["a"], RecoveryAction::Kind::kPut);
  EXPECT_EQ(kinds["c"], RecoveryAction::Kind::kRemove);
  EXPECT_EQ(kinds["d"], RecoveryAction::Kind::kSetMode);
  EXPECT_EQ(kinds["e"], RecoveryAction::Kind::kPut);
  EXPECT_EQ(picture_of(ws), stopped.workspace.before);
  ASSERT_TRUE(reopen(ws));
  EXPECT_EQ(picture_of(ws), stopped.workspace.after);
  EXPECT_TRUE(reopen(ws, kBoot, true)->is_clean());
}

TEST(Recovery, AUserRevertAfterAFinishedCommitIsKept) {
  const auto workspace = make_case(kFiveFiles);
  const WritableDirectory& ws = *workspace.directory;
  ASSERT_TRUE(publish(ws, *workspace.proposal));
  // The old file comes back with its old timestamp, as `mv a.bak a` or `cp -p` does.
  save_file(ws, "a", "old a");
  ASSERT_TRUE(ws.remove_file(rel("b")));
  put_file(ws, "c", "old c");
  const auto mine = picture_of(ws);
  EXPECT_TRUE(reopen(ws)->is_clean());
  EXPECT_EQ(picture_of(ws), mine);
  // Also when the holder that finished it could not leave its note in the lock file.
  auto lock = ws.open_writable_file(rel(".galley/lock"), OpenMode::kReadWrite);
  ASSERT_TRUE(lock && (*lock)->truncate(0));
  ASSERT_TRUE(reopen(ws));
  EXPECT_EQ(picture_of(ws), mine);
}

TEST(Recovery, AnEditAfterAKillIsKeptAndReported) {
  const auto stopped = stop_after_commit_point();
  const WritableDirectory& ws = *stopped.workspace.directory;
  save_file(ws, "a", "the user's");
  save_file(ws, "e", "the user's too");
  const auto report = reopen(ws);
  ASSERT_TRUE(report) << report.error().message;
  auto want = stopped.workspace.after;
  want["a"] = "f 644 the user's";
  want["e"] = "f 644 the user's too";
  EXPECT_EQ(picture_of(ws), want);
  const auto kept =
      std::count_if(report->actions.begin(), report->actions.end(),
                    [](const auto& a) { return a.kind == RecoveryAction::Kind::kKeepForeign; });
  EXPECT_EQ(kept, 2);
}

TEST(Recovery, AFileThatTheUserEmptiedAfterAKillStaysEmpty) {
  const auto stopped = stop_after_commit_point();
  const WritableDirectory& ws = *stopped.workspace.directory;
  put_file(ws, "a", "");
  ASSERT_TRUE(reopen(ws, "another boot"));
  EXPECT_EQ(picture_of(ws)["a"], "f 644 ");
}

TEST(Recovery, ALateWriteToAReplacedFileIsRescuedAfterAReboot) {
  const auto workspace = make_case(kFiveFiles);
  const WritableDirectory& ws = *workspace.directory;
  auto held = ws.open_writable_file(rel("a"), OpenMode::kReadWrite);
  ASSERT_TRUE(held);
  ASSERT_TRUE(publish(ws, *workspace.proposal));
  ASSERT_TRUE((*held)->write_at(0, "LATE"));
  EXPECT_EQ(picture_of(ws), workspace.after);
  // Everything is compared again after a reboot, and what is done with is let go.
  ASSERT_TRUE(reopen(ws, "another boot"));
  EXPECT_EQ(read_file(ws, in_state(ws, "rescue/2/a"), 100).value(), "LATEa");
  EXPECT_EQ(picture_of(ws), workspace.after);
}

}  // namespace
}  // namespace galley
