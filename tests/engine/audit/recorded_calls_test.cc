#include "engine/audit/recorded_calls.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>

#include "doubles/fault_directory.h"
#include "staging/fs/disk_directory.h"
#include "support/temp_directory.h"

namespace galley {
namespace {

/// A log that is written by the test: times are minutes, and hashes are left out.
class Commands : public ::testing::Test {
 protected:
  void line(int minute, const std::string& members) {
    log_ += R"({"timestamp":"2026-11-29T10:)" + std::to_string(kFirst + minute) + R"(:00.000Z",)" +
            members + "}\n";
  }
  void command(int minute, const std::string& tx, const std::string& text) {
    line(minute, R"("changed":["a"],"execution_id":"e)" + std::to_string(++calls_) +
                     R"(","input":{"command":")" + text +
                     R"("},"kind":"call","tool":"Bash","tx":")" + tx + R"(")");
  }
  void commit(int minute, const std::string& tx, uint64_t number, const std::string& begun) {
    line(minute,
         R"("execution_id":"commit-1","input":{)" +
             (begun.empty() ? begun : R"("begun":"2026-11-29T10:)" + begun + R"(:00.000Z")") +
             R"(},"kind":"commit","open_tx":")" + tx + R"(","tx":")" + std::to_string(number) +
             R"(")");
  }
  /// As much as makes the end of the log a small part of it.
  void much(int minute) {
    for (size_t bytes = 0; bytes < kMuch; bytes += kReason) {
      line(minute, R"("kind":"call","reason":")" + std::string(kReason, 'x') + R"(")");
    }
  }

  CommittedCommands found(const std::set<TxId>& commits) {
    tree_.write("audit.jsonl", log_);
    auto opened = open_writable_disk_directory(tree_.path());
    EXPECT_TRUE(opened);
    plan_->calls.clear();
    const auto directory = make_fault_directory(*std::move(opened), plan_);
    auto commands = committed_commands(*directory, commits);
    EXPECT_TRUE(commands);
    return *std::move(commands);
  }
  [[nodiscard]] int64_t reads() const {
    return std::count_if(plan_->calls.begin(), plan_->calls.end(),
                         [](const FaultCall& call) { return call.name == "read_at"; });
  }

  static constexpr int kFirst = 10;
  static constexpr size_t kMuch = size_t{6} << 20U;
  static constexpr size_t kReason = 1000;
  TempDirectory tree_;
  std::shared_ptr<FaultPlan> plan_ = std::make_shared<FaultPlan>();
  std::string log_;
  int calls_ = 0;
};

TEST_F(Commands, OfNewCommitsAreReadFromTheEndOfTheLog) {
  command(1, "old", "make old");
  commit(1, "old", 1, "11");
  much(2);
  command(4, "new", "make new");
  commit(5, "new", 2, "14");
  EXPECT_EQ(found({TxId{2}}), (CommittedCommands{{TxId{2}, {"make new"}}}));
  EXPECT_EQ(reads(), 1);
  EXPECT_TRUE(found({}).empty());
  EXPECT_EQ(reads(), 0);
  const CommittedCommands both = {{TxId{1}, {"make old"}}, {TxId{2}, {"make new"}}};
  EXPECT_EQ(found({TxId{1}, TxId{2}}), both);
}

TEST_F(Commands, OfATransactionThatWasLongOpenAreAllFound) {
  command(1, "tx", "first");
  much(2);
  command(3, "tx", "last");
  commit(4, "tx", 1, "11");
  EXPECT_EQ(found({TxId{1}}), (CommittedCommands{{TxId{1}, {"first", "last"}}}));
}

TEST_F(Commands, OfACommitThatDoesNotSayWhenItBeganAreAllFound) {
  command(1, "tx", "first");
  much(2);
  commit(4, "tx", 1, "");
  EXPECT_EQ(found({TxId{1}}), (CommittedCommands{{TxId{1}, {"first"}}}));
}

TEST_F(Commands, OfAForkAreFoundThoughItsParentIsOlder) {
  command(1, "parent", "first");
  much(2);
  line(3, R"("execution_id":"f","kind":"fork","output":{"tx":"child"},"tx":"parent")");
  command(4, "child", "last");
  commit(5, "child", 1, "13");
  EXPECT_EQ(found({TxId{1}}), (CommittedCommands{{TxId{1}, {"first", "last"}}}));
}

}  // namespace
}  // namespace galley
