#include "engine/history/history.h"
#include "engine/history/undo_choice.h"

#include "engine/commit/history_reader.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "doubles/fault_directory.h"
#include "staging/fs/disk_directory.h"
#include "tests/engine/history/history_workspace.h"

namespace galley {
namespace {

CommitMeta meta(std::string agent, std::string message) {
  CommitMeta result;
  result.agent = std::move(agent);
  result.tool = "apply";
  result.message = std::move(message);
  return result;
}

class HistoryTest : public testing::Test {
 protected:
  HistoryWorkspace workspace_;
};

TEST_F(HistoryTest, ListsNewestFirstWithLineCounts) {
  workspace_.commit_file("src/a.c", "one\ntwo\n", meta("coder", "Add a"));
  workspace_.commit_file("src/a.c", "one\nTWO\nthree\n", meta("fixer", "Mend a"));
  const auto list = workspace_.history().list();
  ASSERT_TRUE(list.has_value());
  ASSERT_EQ(list->size(), 2U);
  const TxSummary& newest = list->front();
  EXPECT_EQ(newest.id, TxId{2});
  EXPECT_EQ(newest.agent, "fixer");
  EXPECT_EQ(newest.message, "Mend a");
  ASSERT_EQ(newest.paths.size(), 1U);
  EXPECT_EQ(newest.paths[0].status, 'M');
  EXPECT_EQ(newest.paths[0].added, 2U);
  EXPECT_EQ(newest.paths[0].removed, 1U);
  const TxSummary& first = list->back();
  ASSERT_EQ(first.paths.size(), 2U);
  EXPECT_TRUE(first.paths[0].is_directory);
  EXPECT_EQ(first.paths[1].status, 'A');
  EXPECT_EQ(first.paths[1].added, 2U);
}

TEST_F(HistoryTest, FiltersByPathAgentMessageTimeAndLimit) {
  workspace_.commit_file("src/a.c", "1\n", meta("coder", "Add a"));
  workspace_.commit_file("docs/b.md", "2\n", meta("writer", "Describe B"));
  workspace_.commit_file("src/c.c", "3\n", meta("coder", "Add c"));
  const History history = workspace_.history();
  const auto ids = [&](const HistoryFilter& filter) {
    std::vector<uint64_t> found;
    const auto list = history.list(filter);
    EXPECT_TRUE(list.has_value());
    for (const TxSummary& one : *list) found.push_back(one.id.value);
    return found;
  };
  HistoryFilter by_path;
  by_path.paths = {rel("src")};
  EXPECT_EQ(ids(by_path), (std::vector<uint64_t>{3, 1}));
  HistoryFilter by_agent;
  by_agent.agent = "writer";
  EXPECT_EQ(ids(by_agent), (std::vector<uint64_t>{2}));
  HistoryFilter by_message;
  by_message.message = "describe b";
  EXPECT_EQ(ids(by_message), (std::vector<uint64_t>{2}));
  HistoryFilter limited;
  limited.limit = 2;
  EXPECT_EQ(ids(limited), (std::vector<uint64_t>{3, 2}));
  HistoryFilter later;
  later.since_ns = workspace_.clock().wall_ns();
  EXPECT_TRUE(ids(later).empty());
}

TEST_F(HistoryTest, RenameIsListedOnceUnderItsNewName) {
  workspace_.commit_file("a.txt", "1\n2\n3\n");
  workspace_.commit(
      [](Overlay& overlay) { ASSERT_TRUE(overlay.move(rel("a.txt"), rel("b.txt")).has_value()); });
  const auto summary = workspace_.history().summary(TxId{2});
  ASSERT_TRUE(summary.has_value());
  ASSERT_EQ(summary->paths.size(), 1U);
  EXPECT_EQ(summary->paths[0].status, 'R');
  EXPECT_EQ(summary->paths[0].path, rel("b.txt"));
  EXPECT_EQ(summary->paths[0].from, rel("a.txt"));
}

TEST_F(HistoryTest, UndoAndRedoAreShownOnTheTransactionsThatTheyRevert) {
  const TxId first = workspace_.commit_file("a.txt", "1\n");
  const TxId undo = workspace_.undo(first);
  EXPECT_EQ(workspace_.history().summary(first)->undone_by, undo);
  const TxId redo = workspace_.redo();
  EXPECT_EQ(workspace_.history().summary(first)->undone_by, std::nullopt);
  EXPECT_EQ(workspace_.history().summary(undo)->undone_by, redo);
}

TEST_F(HistoryTest, EmptyIdIsTheNewestTransactionThatIsNotUndoneAndNotAnUndo) {
  const TxId first = workspace_.commit_file("a.txt", "1\n");
  const TxId second = workspace_.commit_file("b.txt", "1\n");
  EXPECT_EQ(workspace_.history().resolve(""), second);
  workspace_.undo(second);
  EXPECT_EQ(workspace_.history().resolve(""), first);
  workspace_.redo();
  EXPECT_EQ(workspace_.history().resolve(""), second);
  workspace_.undo(second);
  workspace_.undo(first);
  EXPECT_EQ(workspace_.history().resolve("").error().reason, "history.nothing_to_undo");
}

TEST_F(HistoryTest, TheNewestTransactionOfAnAgentIsNotThatOfAnother) {
  CommitMeta bot;
  bot.agent = "bot";
  const TxId own = workspace_.commit_file("a.txt", "1\n", bot);
  const TxId other = workspace_.commit_file("b.txt", "1\n");
  EXPECT_EQ(newest_to_undo(workspace_.history(), {"bot", ""}), own);
  EXPECT_EQ(newest_to_undo(workspace_.history(), {"", ""}), other);
  const auto none = newest_to_undo(workspace_.history(), {"cat", ""});
  ASSERT_FALSE(none.has_value());
  EXPECT_EQ(none.error().reason, "history.nothing_to_undo");
  EXPECT_NE(none.error().message.find("galley undo ID"), std::string::npos) << none.error().message;
  const TxId undo = workspace_.undo(own);
  EXPECT_EQ(newest_to_undo(workspace_.history(), {"bot", ""}).error().reason,
            "history.nothing_to_undo");
  EXPECT_EQ(newest_undo(workspace_.history(), {"", ""}), undo);
  EXPECT_EQ(newest_undo(workspace_.history(), {"bot", ""}).error().reason,
            "history.nothing_to_redo");
}

TEST_F(HistoryTest, ReadsIdsAsPeopleWriteThem) {
  for (int i = 0; i < 17; ++i) workspace_.commit_file("a.txt", std::to_string(i) + "\n");
  const History history = workspace_.history();
  EXPECT_EQ(history.resolve("17"), TxId{17});
  EXPECT_EQ(history.resolve("11"), TxId{11});
  EXPECT_EQ(history.resolve("b").error().reason, "history.bad_id") << "hexadecimal is for files";
  EXPECT_EQ(history.resolve("@"), TxId{17});
  EXPECT_EQ(history.resolve("HEAD~1"), TxId{16});
  EXPECT_EQ(history.resolve("@~16"), TxId{1});
  EXPECT_EQ(history.resolve("@~17").error().reason, "history.not_found");
  EXPECT_EQ(history.resolve("99").error().kind, ErrorKind::kNotFound);
  EXPECT_EQ(history.resolve("nonsense").error().reason, "history.bad_id");
  EXPECT_EQ(history.resolve("@1").error().reason, "history.bad_id");
}

TEST_F(HistoryTest, DamagedJournalIsListedWithItsProblemAndTheOthersAreListed) {
  workspace_.commit_file("a.txt", "1\n");
  workspace_.commit_file("a.txt", "2\n");
  workspace_.commit_file("a.txt", "3\n");
  workspace_.retire_all();
  const auto file =
      workspace_.state().undo().open_writable_file(journal_name(TxId{2}), OpenMode::kReadWrite);
  ASSERT_TRUE(file.has_value());
  ASSERT_TRUE((*file)->write_at(80, "XXXX").has_value());
  const auto list = workspace_.history().list();
  ASSERT_TRUE(list.has_value()) << list.error().message;
  ASSERT_EQ(list->size(), 3U);
  EXPECT_FALSE(list->at(1).problem.empty());
  EXPECT_TRUE(list->at(2).problem.empty());
}

TEST_F(HistoryTest, DamagedPendingJournalIsListedWithItsProblem) {
  workspace_.commit_file("a.txt", "1\n");
  workspace_.commit_file("a.txt", "2\n");
  workspace_.commit_file("a.txt", "3\n");
  const auto file =
      workspace_.state().journals().open_writable_file(journal_name(TxId{2}), OpenMode::kReadWrite);
  ASSERT_TRUE(file.has_value());
  ASSERT_TRUE((*file)->write_at(80, "XXXX").has_value());
  EXPECT_EQ(damaged_pending_ids(workspace_.state()), std::vector<TxId>{TxId{2}});
  const auto list = workspace_.history().list();
  ASSERT_TRUE(list.has_value()) << list.error().message;
  ASSERT_EQ(list->size(), 3U);
  EXPECT_FALSE(list->at(1).problem.empty());
  EXPECT_EQ(workspace_.history().summary(TxId{2}).error().reason, "journal.damaged");
}

TEST_F(HistoryTest, FindsAndPlansTheNewestUndoByReadingItsJournalOnce) {
  workspace_.commit_file("a", "one\n");
  const TxId newest = workspace_.commit_file("a", "two\n");
  const auto plan = std::make_shared<FaultPlan>();
  auto opened = open_writable_disk_directory(workspace_.temp().path());
  ASSERT_TRUE(opened.has_value());
  const auto root = make_fault_directory(std::move(*opened), plan);
  const auto state = StateDirectory::open_or_create(*root);
  ASSERT_TRUE(state.has_value());
  plan->calls.clear();
  const History history(*state);
  EXPECT_EQ(newest_to_undo(history, {}), newest);
  EXPECT_TRUE(plan_undo(history, *root, newest, workspace_.clock(), {}));
  const auto reads =
      std::count_if(plan->calls.begin(), plan->calls.end(), [&](const FaultCall& call) {
        return call.name == "read_at" && call.path == journal_name(newest).str();
      });
  EXPECT_EQ(reads, 1);
}

TEST(Moment, ReadsDurationsDatesAndTimes) {
  constexpr int64_t kSecond = 1'000'000'000;
  EXPECT_EQ(parse_time_expression("90s", 100 * kSecond), 10 * kSecond);
  EXPECT_EQ(parse_time_expression("2h", 7200 * kSecond), 0);
  EXPECT_EQ(parse_time_expression("2026-11-21", 0), int64_t{1795219200} * kSecond);
  EXPECT_EQ(parse_time_expression("2026-11-21T01:00:00Z", 0), int64_t{1795222800} * kSecond);
  EXPECT_EQ(parse_time_expression("2026-11-21T01:00:00.250+01:00", 0),
            int64_t{1795219200} * kSecond);
}

TEST(Moment, RefusesInvalidTimes) {
  for (const char* text : {"", "x", "2h3", "-2h", "2026-13-01", "2026-02-30", "2026-11-21T25:00:00",
                           "2026-11-21T01:00", "2026-11-21Tx", "99999999999d"}) {
    const auto moment = parse_time_expression(text, 0);
    ASSERT_FALSE(moment.has_value()) << text;
    EXPECT_EQ(moment.error().reason, "history.bad_time") << text;
  }
}

}  // namespace
}  // namespace galley
