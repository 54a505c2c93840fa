#include "engine/audit/recorded_calls.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

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

  /// The directory of the log, which notes its calls.
  std::unique_ptr<WritableDirectory> logged() {
    tree_.write("audit.jsonl", log_);
    auto opened = open_writable_disk_directory(tree_.path());
    EXPECT_TRUE(opened);
    plan_->calls.clear();
    return make_fault_directory(*std::move(opened), plan_);
  }
  CommittedCommands found(const std::set<TxId>& commits) {
    auto commands = committed_commands(*logged(), commits);
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

class CallsWithIds : public Commands {
 protected:
  /// A call of the session `s`, with these members of its record.
  void call(int minute, const std::string& id, const std::string& tx, const std::string& more) {
    line(minute, R"("call_id":")" + id + R"(","execution_id":"e)" + id +
                     R"(","input":{"a":1},"kind":"call","session_id":"s","tool":"t","tx":")" + tx +
                     R"(")" + more);
  }
  /// What is found since the minute: for each call its id, its result, and whether it counts.
  std::vector<std::string> since(int minute) {
    const auto calls = identified_calls(
        *logged(), "2026-11-29T10:" + std::to_string(kFirst + minute) + ":00.000Z");
    EXPECT_TRUE(calls);
    std::vector<std::string> told;
    for (const IdentifiedCall& one : *calls) {
      EXPECT_EQ(one.session_id + one.tool + one.input, R"(st{"a":1})");
      told.push_back(one.call_id + one.output + (one.has_ended ? " ended" : "") +
                     (one.has_begun ? " begun" : "") + (one.has_no_change ? " unchanged" : ""));
      EXPECT_TRUE(one.time.starts_with("2026-11-29T10:")) << one.time;
    }
    return told;
  }
  static constexpr const char* kChanged = R"(,"changed":["f"],"output":{"r":true})";
};

TEST_F(CallsWithIds, TellWhetherTheirTransactionHasEnded) {
  call(1, "1", "x", kChanged);
  commit(1, "x", 1, "11");
  call(2, "2", "y", kChanged);
  line(2, R"("error":{"code":"PERMISSION"},"kind":"refusal","tx":"y")");
  line(2, R"("input":{"to":"x"},"kind":"rollback","tx":"y")");
  call(3, "read", "z", R"(,"output":{"text":"one"})");
  EXPECT_EQ(since(0), (std::vector<std::string>{R"(1{"r":true} ended)", R"(2{"r":true})"}));
  call(4, "2", "w", kChanged);
  line(4, R"("kind":"rollback","tx":"w")");
  EXPECT_EQ(since(0), (std::vector<std::string>{R"(1{"r":true} ended)", R"(2{"r":true} ended)"}));
}

TEST_F(CallsWithIds, HaveNoResultIfTheRecordHasOnlyAPartOfIt) {
  const std::string hash(64, 'a');
  call(1, "long", "x",
       R"(,"changed":["f"],"output":{"r":[{"bytes":9,"sha256":")" + hash + R"("}]})");
  call(1, "hidden", "x", R"(,"changed":["f"],"output":{"r":"[REDACTED:github-token]"})");
  call(1, "failed", "x", R"(,"changed":["f"],"error":{"code":"RUNTIME"})");
  EXPECT_EQ(since(0), (std::vector<std::string>{"long", "hidden", "failed"}));
}

TEST_F(CallsWithIds, ThatRanAProgramAreFoundWithoutAChangeOrAnEnd) {
  for (const std::string id : {"1", "2"}) {
    line(1, R"("call_id":")" + id + R"(","execution_id":"e)" + id +
                R"(-begun","input":{"a":1},"kind":"begun","session_id":"s","tool":"t","tx":"x")");
  }
  call(2, "1", "x", R"(,"output":{"r":true})");
  EXPECT_EQ(since(0), (std::vector<std::string>{"2 begun", R"(1{"r":true} begun unchanged)"}));
}

TEST_F(CallsWithIds, ThatEndedATransactionAreFound) {
  const std::string ids = R"("call_id":"1","session_id":"s","execution_id":"e1","tx":"x")";
  line(1, R"("kind":"commit","open_tx":"w",)" + ids);
  line(2, R"("kind":"commit","open_tx":"v","error":{"code":"RUNTIME"},)" + ids);
  line(3, R"("kind":"rollback","input":{"to":"a"},)" + ids);
  line(4, R"("kind":"rollback","output":{"r":1},)" + ids);
  const auto calls = identified_calls(*logged(), "2026-11-29T10:10:00.000Z");
  ASSERT_TRUE(calls);
  std::vector<std::string> told;
  for (const IdentifiedCall& one : *calls) {
    EXPECT_TRUE(one.has_ended);
    const bool is_commit = one.end == IdentifiedCall::End::kCommit;
    told.push_back((is_commit ? "commit " : "rollback ") + one.tx + one.output);
  }
  EXPECT_EQ(told, (std::vector<std::string>{"commit w{}", R"(rollback x{"r":1})"}));
}

TEST_F(CallsWithIds, AreNoCallsThatACallMade) {
  call(1, "1", "x", std::string(kChanged) + R"(,"parent_execution_id":"e0")");
  call(2, "1", "x", kChanged);
  call(3, "1", "y", std::string(kChanged) + R"(,"parent_execution_id":"e1")");
  commit(4, "x", 1, "11");
  EXPECT_EQ(since(0), (std::vector<std::string>{R"(1{"r":true} ended)"}));
}

TEST_F(CallsWithIds, AreReadFromTheEndOfTheLog) {
  call(1, "old", "x", kChanged);
  much(2);
  call(3, "new", "y", kChanged);
  EXPECT_EQ(since(3), (std::vector<std::string>{R"(new{"r":true})"}));
  EXPECT_EQ(reads(), 1);
  EXPECT_EQ(since(0).size(), 2U);
}

}  // namespace
}  // namespace galley
