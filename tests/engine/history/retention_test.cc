#include "engine/history/retention.h"

#include <gtest/gtest.h>

#include "engine/commit/history_reader.h"
#include "engine/history/undo.h"
#include "tests/engine/history/history_workspace.h"

namespace galley {
namespace {

constexpr int64_t kDayNs = int64_t{86400} * 1'000'000'000;

class FixedClock final : public Clock {
 public:
  explicit FixedClock(int64_t now_ns) : now_ns_(now_ns) {}
  [[nodiscard]] int64_t wall_ns() const override { return now_ns_; }
  [[nodiscard]] std::chrono::steady_clock::time_point steady() const override { return {}; }

 private:
  int64_t now_ns_;
};

class RetentionTest : public testing::Test {
 protected:
  RetentionTest() {
    for (int i = 0; i < 5; ++i) workspace_.commit_file("a.txt", std::to_string(i) + "\n");
    workspace_.retire_all();
  }
  std::vector<uint64_t> left() {
    std::vector<uint64_t> ids;
    const auto all = workspace_.history().ids();
    for (const TxId id : *all) ids.push_back(id.value);
    return ids;
  }
  PruneReport prune(const HistoryConfig& limits, bool dry_run = false, int64_t later_ns = 0) {
    const FixedClock clock(workspace_.clock().wall_ns() + later_ns);
    auto report = prune_history(workspace_.state(), limits, clock, dry_run);
    EXPECT_TRUE(report.has_value()) << report.error().message;
    return *std::move(report);
  }
  using Ids = std::vector<uint64_t>;
  HistoryWorkspace workspace_;
};

TEST_F(RetentionTest, KeepsTheConfiguredNumberOfNewestTransactions) {
  const PruneReport report = prune({2, 0, 0});
  ASSERT_EQ(report.transactions.size(), 3U);
  EXPECT_EQ(report.transactions[0].id, TxId{1});
  EXPECT_EQ(report.transactions[0].why, "count");
  EXPECT_GT(report.bytes, 0U);
  EXPECT_EQ(left(), (Ids{4, 5}));
}

TEST_F(RetentionTest, DryRunRemovesNothing) {
  EXPECT_EQ(prune({1, 0, 0}, true).transactions.size(), 4U);
  EXPECT_EQ(left().size(), 5U);
}

TEST_F(RetentionTest, DryRunNamesTransactionsThatAreRetiredBefore) {
  for (int i = 0; i < 2; ++i) workspace_.commit_file("b.txt", std::to_string(i) + "\n");
  constexpr int64_t kMinuteNs = 60'000'000'000;
  const PruneReport planned = prune({1, 0, 0}, true, kMinuteNs);
  ASSERT_EQ(planned.transactions.size(), 6U);
  EXPECT_EQ(planned.transactions[5].id, TxId{6});
  EXPECT_EQ(left().size(), 7U);
  workspace_.retire_all();
  EXPECT_EQ(prune({1, 0, 0}).transactions.size(), 6U);
  EXPECT_EQ(left(), (Ids{7}));
}

TEST_F(RetentionTest, LimitsOfAgeAndBytesKeepTheNewest) {
  EXPECT_EQ(prune({0, 3, 0}, true, 2 * kDayNs).transactions.size(), 0U);
  const PruneReport old = prune({0, 3, 0}, true, 4 * kDayNs);
  ASSERT_EQ(old.transactions.size(), 4U);
  EXPECT_EQ(old.transactions[3].why, "age");
  const PruneReport large = prune({0, 0, 1});
  ASSERT_EQ(large.transactions.size(), 4U);
  EXPECT_EQ(large.transactions[3].why, "bytes");
  EXPECT_EQ(left(), (Ids{5}));
}

TEST_F(RetentionTest, NoLimitKeepsEverything) {
  EXPECT_TRUE(prune({0, 0, 0}, false, 10'000 * kDayNs).transactions.empty());
  EXPECT_EQ(left().size(), 5U);
}

TEST_F(RetentionTest, DamagedJournalsAndTheirPossibleBlobsAreNotDropped) {
  const auto file =
      workspace_.state().undo().open_writable_file(journal_name(TxId{1}), OpenMode::kReadWrite);
  ASSERT_TRUE(file.has_value());
  ASSERT_TRUE((*file)->write_at(80, "XXXX").has_value());
  workspace_.temp().write(".galley/blob/ab/ab" + std::string(62, '0'), "orphan");
  EXPECT_EQ(prune({1, 0, 0}).blobs, 0U);
  EXPECT_TRUE(workspace_.exists(".galley/undo/1.j"));
  EXPECT_FALSE(workspace_.exists(".galley/undo/2.j"));
}

TEST_F(RetentionTest, DropsContentsThatNoJournalNames) {
  const std::string orphan = ".galley/blob/ab/ab" + std::string(62, '0');
  workspace_.temp().write(orphan, "orphan");
  EXPECT_EQ(prune({0, 0, 0}, true).blobs, 1U);
  EXPECT_TRUE(workspace_.exists(orphan));
  EXPECT_EQ(prune({0, 0, 0}).blobs, 1U);
  EXPECT_FALSE(workspace_.exists(orphan));
}

TEST_F(RetentionTest, DiskUseNamesTheParts) {
  const auto use = disk_use(workspace_.state());
  ASSERT_TRUE(use.has_value());
  EXPECT_EQ(use->transactions, 5U);
  uint64_t sum = 0;
  bool has_undo = false;
  for (const DiskUse::Part& part : use->parts) {
    sum += part.bytes;
    if (part.name == "undo") {
      has_undo = true;
      EXPECT_EQ(part.files, 5U);
    }
  }
  EXPECT_TRUE(has_undo);
  EXPECT_EQ(sum, use->bytes);
}

TEST_F(RetentionTest, ReadingAContentThatWasPrunedMeanwhileIsNotFound) {
  const std::string large(size_t{2} << 20U, 'x');  // over 1 MiB: kept next to the journal
  workspace_.commit_file("large.txt", large);
  workspace_.commit_file("large.txt", "small\n");
  workspace_.commit_file("a.txt", "last\n");
  workspace_.retire_all();
  const History history = workspace_.history();
  const auto outcome = plan_undo(history, workspace_.root(), TxId{7}, workspace_.clock());
  ASSERT_TRUE(outcome.has_value()) << outcome.error().message;
  const auto& plan = std::get<UndoPlan>(*outcome);
  prune({1, 0, 0});
  const auto content = plan.proposal.content(plan.proposal.changes()[0].after);
  ASSERT_FALSE(content.has_value());
  EXPECT_EQ(content.error().reason, "history.pruned") << content.error().message;
  EXPECT_EQ(content.error().kind, ErrorKind::kNotFound);
}

TEST_F(RetentionTest, TheBaseOfADeltaIsKeptAsLongAsTheDelta) {
  std::string large;
  for (int i = 0; large.size() < size_t{2} << 20U; ++i) large += std::to_string(i) + " line\n";
  const std::string second = "second\nfirst\n" + large;
  const std::string third = "third\nfirst\n" + large;
  workspace_.commit_file("large.txt", large);              // 6
  workspace_.commit_file("large.txt", "first\n" + large);  // 7
  workspace_.commit_file("large.txt", second);             // 8
  workspace_.commit_file("large.txt", third);              // 9
  workspace_.retire_all();
  EXPECT_EQ(prune({1, 0, 0}).blobs, 1U);  // that of 7; 6 has the base of both sides of 9
  const auto left = load_committed(workspace_.state(), TxId{9});
  ASSERT_TRUE(left.has_value());
  const Change& change = left->changes.at(0);
  EXPECT_EQ(**left->store->get(change.before.content), second);
  EXPECT_EQ(**left->store->get(change.after.content), third);
  workspace_.undo(TxId{9});
  EXPECT_EQ(workspace_.read("large.txt"), second);
  workspace_.commit_file("large.txt", "small\n");
  workspace_.commit_file("large.txt", "smaller\n");
  workspace_.retire_all();
  EXPECT_EQ(prune({1, 0, 0}).blobs, 3U);
  const auto use = disk_use(workspace_.state());
  for (const DiskUse::Part& part : use->parts) {
    EXPECT_TRUE(part.name != "blob" || part.files == 0);
  }
}

TEST_F(RetentionTest, APrunedTransactionDiffersFromAnUnknownOne) {
  prune({2, 0, 0});
  const History history = workspace_.history();
  EXPECT_EQ(history.load(TxId{3}).error().reason, "history.pruned");
  EXPECT_EQ(history.resolve("3").error().reason, "history.pruned");
  EXPECT_EQ(history.load(TxId{9}).error().reason, "history.not_found");
}

}  // namespace
}  // namespace galley
