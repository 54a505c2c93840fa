// One call is taken back by its execution id: out of what is staged, and after the commit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>

#include <galley/workspace.h>
#include "base/shared_map.h"
#include "engine/pipeline/inner_transaction.h"
#include "engine/pipeline/transaction_state.h"
#include "support/own_file.h"
#include "support/rel.h"
#include "support/temp_directory.h"

namespace galley {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class RollbackExecution : public ::testing::Test {
 protected:
  RollbackExecution() {
    tree_.write("a.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
    tree_.write("b.txt", "b\n");
    workspace_ = *Workspace::open(tree_.path());
  }
  /// Replaces a text by a call of the tool Edit and returns its execution id.
  static std::string edit(Transaction& transaction, const std::string& path, const std::string& old,
                          const std::string& text) {
    const json args = {{"file_path", path}, {"old_string", old}, {"new_string", text}};
    return done(transaction.call("Edit", args.dump()));
  }
  static std::string write(Transaction& transaction, const std::string& path,
                           const std::string& text) {
    const json args = {{"file_path", path}, {"content", text}};
    return done(transaction.call("Write", args.dump()));
  }
  static std::string done(const CallResult& called) {
    EXPECT_TRUE(called) << called.error().message;
    return called.result().meta.execution_id;
  }
  std::vector<json> records() {
    std::vector<json> all;
    std::istringstream lines(tree_.read(".galley/audit.jsonl"));
    for (std::string line; std::getline(lines, line);) all.push_back(json::parse(line));
    return all;
  }
  static Receipt commit(Transaction& transaction) {
    const auto outcome = transaction.commit();
    EXPECT_TRUE(outcome) << outcome.error().message;
    return std::get<Receipt>(*outcome);
  }

  TempDirectory tree_;
  std::unique_ptr<Workspace> workspace_;
};

/// Counts what a session of calls costs, which is the same for its last call and its first.
TEST(SessionCost, TheCostOfACallDoesNotGrowWithEarlierCalls) {
  TempDirectory tree;
  const auto workspace = *Workspace::open(tree.path());
  auto transaction = *workspace->begin_stored();
  const std::string file = own_file(*workspace, "stage/" + transaction.id() + "/overlay");
  const auto inode = [&] { return tree.directory().stat(rel(file))->inode; };
  constexpr int kCalls = 600;
  uint64_t most = 0;
  int wholes = 0;
  uint64_t last_inode = inode();
  for (int call = 0; call < kCalls; ++call) {
    const uint64_t made = shared_map_nodes_made;
    const json args = {{"file_path", "d/f" + std::to_string(call)}, {"content", "text\n"}};
    ASSERT_TRUE(transaction.call("Write", args.dump()));
    ASSERT_TRUE(transaction.save());
    most = std::max(most, shared_map_nodes_made - made);
    wholes += inode() == last_inode ? 0 : 1;
    last_inode = inode();
  }
  EXPECT_EQ(transaction.proposal().changes().size(), kCalls + 1U);
  EXPECT_LE(most, 4U * 10U) << "nodes: the way down a tree of 600, for each time it is changed";
  EXPECT_LE(wholes, 4) << "all that is staged is written when it has doubled";
}

// --- while it is open -------------------------------------------------------------------------

TEST_F(RollbackExecution, RevertingACallKeepsLaterChangesOfOtherLines) {
  auto transaction = *workspace_->begin();
  const std::string first = edit(transaction, "a.txt", "2", "two");
  edit(transaction, "a.txt", "8", "eight");
  write(transaction, "c.txt", "c\n");
  const auto taken = transaction.rollback_execution(first);
  ASSERT_TRUE(taken) << taken.error().message;
  EXPECT_THAT(*taken, ElementsAre(first));
  EXPECT_EQ(*transaction.read("a.txt"), "1\n2\n3\n4\n5\n6\n7\neight\n9\n");
  EXPECT_EQ(*transaction.read("c.txt"), "c\n");
}

TEST_F(RollbackExecution, LaterCallsThatBuiltOnItAreNamedAndRevertedOnRequest) {
  auto transaction = *workspace_->begin();
  const std::string made = write(transaction, "d/c.txt", "one\ntwo\n");
  const std::string changed = edit(transaction, "d/c.txt", "two", "2");
  const std::string other = edit(transaction, "a.txt", "5", "five");
  const auto refused = transaction.rollback_execution(made);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason, "rollback.built_upon");
  EXPECT_THAT(refused.error().message, HasSubstr(changed));
  EXPECT_EQ(*transaction.read("d/c.txt"), "one\n2\n");
  const auto taken = transaction.rollback_execution(made, true);
  ASSERT_TRUE(taken) << taken.error().message;
  EXPECT_THAT(*taken, ElementsAre(changed, made));
  EXPECT_EQ(transaction.look("d")->kind, FileKind::kAbsent);
  EXPECT_EQ(*transaction.read("a.txt"), "1\n2\n3\n4\nfive\n6\n7\n8\n9\n");
  EXPECT_EQ(transaction.proposal().changes().size(), 1U);
}

TEST_F(RollbackExecution, ARollbackCanBeRolledBack) {
  auto transaction = *workspace_->begin_stored();
  const std::string deleted = done(transaction.call("Delete", R"({"path": "b.txt"})"));
  ASSERT_TRUE(transaction.rollback_execution(deleted));
  EXPECT_EQ(*transaction.read("b.txt"), "b\n");
  const json record = records().back();
  EXPECT_EQ(record["kind"], "rollback");
  EXPECT_EQ(record["input"]["execution"], deleted);
  EXPECT_EQ(record["output"]["executions"], json::array({deleted}));
  EXPECT_EQ(record["changed"], json::array({"b.txt"}));
  ASSERT_TRUE(transaction.rollback_execution(record["execution_id"]));
  EXPECT_EQ(transaction.look("b.txt")->kind, FileKind::kAbsent);
}

TEST_F(RollbackExecution, MovesModesAndDirectoriesAreReverted) {
  auto transaction = *workspace_->begin();
  const std::string moved =
      done(transaction.call("Move", R"({"source": "b.txt", "destination": "d/moved.txt"})"));
  const std::string mode = done(transaction.call("Chmod", R"({"path": "a.txt", "mode": "0755"})"));
  const std::string made = done(transaction.call("MakeDirectory", R"({"path": "e/f"})"));
  for (const std::string& one : {moved, mode, made}) {
    const auto taken = transaction.rollback_execution(one);
    EXPECT_TRUE(taken) << taken.error().message;
  }
  EXPECT_TRUE(transaction.proposal().is_empty());
}

TEST_F(RollbackExecution, ResumedAndForkedTransactionsKnowEarlierCalls) {
  std::string first;
  std::string id;
  {
    auto transaction = *workspace_->begin_stored();
    id = transaction.id();
    first = edit(transaction, "a.txt", "2", "two");
    edit(transaction, "a.txt", "8", "eight");
    ASSERT_TRUE(transaction.save());
  }
  auto parent = *workspace_->resume(id);
  auto fork = *parent.fork();
  for (Transaction* transaction : {&parent, &fork}) {
    const auto taken = transaction->rollback_execution(first);
    ASSERT_TRUE(taken) << taken.error().message;
    EXPECT_EQ(*transaction->read("a.txt"), "1\n2\n3\n4\n5\n6\n7\neight\n9\n");
  }
}

TEST_F(RollbackExecution, UnknownReadingAndRevertedCallsAreErrors) {
  auto transaction = *workspace_->begin();
  EXPECT_EQ(transaction.rollback_execution("exec-none").error().reason,
            "rollback.unknown_execution");
  const std::string read = done(transaction.call("Read", R"({"file_path": "a.txt"})"));
  EXPECT_EQ(transaction.rollback_execution(read).error().reason, "rollback.unknown_execution");
  const std::string first = edit(transaction, "a.txt", "2", "two");
  ASSERT_TRUE(transaction.rollback_execution(first));
  EXPECT_EQ(transaction.rollback_execution(first).error().reason, "rollback.nothing");
}

TEST_F(RollbackExecution, ADryRunReportsAndKeepsNothing) {
  auto transaction = *workspace_->begin();
  const std::string first = edit(transaction, "a.txt", "2", "two");
  const std::string second = edit(transaction, "a.txt", "two", "zwei");
  CallOptions options;
  options.dry_run = true;
  EXPECT_THAT(*transaction.rollback_execution(first, true, options), ElementsAre(second, first));
  EXPECT_EQ(*transaction.read("a.txt"), "1\nzwei\n3\n4\n5\n6\n7\n8\n9\n");
}

TEST_F(RollbackExecution, DroppedCallsAndDryRunsCannotBeRolledBack) {
  auto transaction = *workspace_->begin();
  const auto calls =
      parse_calls(R"([{"tool":"Write","args":{"file_path":"n","content":"n"}},{"tool":"None"}])");
  const auto results = inner(transaction).call_all(*calls);
  EXPECT_EQ(transaction.rollback_execution(results[0].meta.execution_id).error().reason,
            "rollback.unknown_execution");
  CallOptions options;
  options.dry_run = true;
  const auto dry = transaction.call("Write", R"({"file_path":"n","content":"n"})", options);
  EXPECT_EQ(transaction.rollback_execution(dry.result().meta.execution_id).error().reason,
            "rollback.unknown_execution");
}

TEST_F(RollbackExecution, ADamagedFileOfCallsIsReportedAndStagedChangesStay) {
  std::string id;
  std::string first;
  {
    auto transaction = *workspace_->begin_stored();
    id = transaction.id();
    first = edit(transaction, "a.txt", "2", "two");
    ASSERT_TRUE(transaction.save());
  }
  tree_.write(own_file(*workspace_, "stage/" + id + "/calls"), "nonsense");
  auto transaction = *workspace_->resume(id);
  EXPECT_EQ(transaction.rollback_execution(first).error().reason, "stage.damaged");
  EXPECT_EQ(*transaction.read("a.txt"), "1\ntwo\n3\n4\n5\n6\n7\n8\n9\n");
}

// --- after the commit -------------------------------------------------------------------------

TEST_F(RollbackExecution, AfterTheCommitOnlyThePathsOfTheCallAreUndone) {
  auto transaction = *workspace_->begin_stored();
  const std::string first = edit(transaction, "a.txt", "2", "two");
  write(transaction, "d/c.txt", "c\n");
  const Receipt receipt = commit(transaction);
  const auto outcome = workspace_->rollback_execution(first, false, {"bot", "wrong"});
  ASSERT_TRUE(outcome) << outcome.error().message;
  ASSERT_TRUE(std::holds_alternative<Receipt>(*outcome));
  EXPECT_EQ(tree_.read("a.txt"), "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
  EXPECT_EQ(tree_.read("d/c.txt"), "c\n");
  const auto all = records();
  EXPECT_EQ(all[all.size() - 2]["kind"], "undo");
  EXPECT_EQ(all[all.size() - 2]["tool"], "undo-part");
  EXPECT_EQ(all.back()["kind"], "rollback");
  EXPECT_EQ(all.back()["input"]["execution"], first);
  EXPECT_EQ(all.back()["tx"], receipt.id.str());
  EXPECT_EQ(all.back()["output"]["committed"], "2");
}

TEST_F(RollbackExecution, AfterTheCommitOtherCallsOnTheSamePathAreNamed) {
  auto transaction = *workspace_->begin();
  const std::string first = edit(transaction, "a.txt", "2", "two");
  const std::string second = edit(transaction, "a.txt", "8", "eight");
  write(transaction, "c.txt", "c\n");
  commit(transaction);
  const auto upon = workspace_->rollback_execution(first);
  EXPECT_EQ(upon.error().reason, "rollback.built_upon");
  EXPECT_THAT(upon.error().message, HasSubstr(second));
  const auto on = workspace_->rollback_execution(second);
  EXPECT_EQ(on.error().reason, "rollback.built_on");
  EXPECT_THAT(on.error().message, HasSubstr(first));
  ASSERT_TRUE(std::holds_alternative<Receipt>(*workspace_->rollback_execution(first, true)));
  EXPECT_EQ(tree_.read("a.txt"), "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
  EXPECT_EQ(tree_.read("c.txt"), "c\n");
}

TEST_F(RollbackExecution, ALaterCommitOnTheSameLinesIsAConflict) {
  auto transaction = *workspace_->begin();
  const std::string first = edit(transaction, "a.txt", "2", "two");
  commit(transaction);
  auto later = *workspace_->begin();
  edit(later, "a.txt", "two", "zwei");
  commit(later);
  const auto outcome = workspace_->rollback_execution(first);
  ASSERT_TRUE(outcome) << outcome.error().message;
  const auto* conflict = std::get_if<Conflict>(&*outcome);
  ASSERT_NE(conflict, nullptr);
  EXPECT_EQ(conflict->reason, "undo.conflict");
  EXPECT_THAT(conflict->warnings.front(), HasSubstr("2 builds on 1"));
}

TEST_F(RollbackExecution, ACallThatWasRevertedBeforeTheCommitIsIgnored) {
  auto transaction = *workspace_->begin();
  const std::string first = edit(transaction, "a.txt", "2", "two");
  const std::string second = edit(transaction, "a.txt", "8", "eight");
  ASSERT_TRUE(transaction.rollback_execution(first));
  commit(transaction);
  EXPECT_EQ(workspace_->rollback_execution(first).error().reason, "rollback.nothing");
  ASSERT_TRUE(std::holds_alternative<Receipt>(*workspace_->rollback_execution(second)));
  EXPECT_EQ(tree_.read("a.txt"), "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
}

TEST_F(RollbackExecution, TheRecordOfARollbackNamesAllOfManyCalls) {
  constexpr size_t kCalls = 60;
  auto transaction = *workspace_->begin_stored();
  std::vector<std::string> made;
  for (size_t i = 0; i < kCalls; ++i) {
    made.push_back(write(transaction, "c.txt", std::to_string(i) + "\n"));
  }
  ASSERT_TRUE(transaction.rollback_execution(made.front(), true));
  EXPECT_EQ(records().back()["output"]["executions"].size(), kCalls);
  const std::string last = write(transaction, "c.txt", "c\n");
  commit(transaction);
  EXPECT_EQ(workspace_->rollback_execution(made.back()).error().reason, "rollback.nothing");
  const auto outcome = workspace_->rollback_execution(last);
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_TRUE(std::holds_alternative<Receipt>(*outcome));
}

TEST_F(RollbackExecution, CallsDroppedBeforeTheCommitDoNotPreventTheRollbackOfOthers) {
  const auto drop_calls = [](Transaction& transaction) {
    const auto calls = parse_calls(
        R"([{"tool":"Write","args":{"file_path":"b.txt","content":"A"}},{"tool":"None"}])");
    EXPECT_FALSE(inner(transaction).call_all(*calls).back().ok);
  };
  const auto drop_edits = [](Transaction& transaction) {
    const auto is_kept = transaction.stage_all([&]() -> Result<bool> {
      write(transaction, "b.txt", "A\n");
      return false;
    });
    EXPECT_FALSE(*is_kept);
  };
  const auto drop_undone_edits = [](Transaction& transaction) {
    const auto is_kept = transaction.stage_all([&]() -> Result<bool> {
      write(transaction, "b.txt", "A\n");
      write(transaction, "b.txt", "b\n");
      return false;
    });
    EXPECT_FALSE(*is_kept);
  };
  const auto return_to_savepoint = [](Transaction& transaction) {
    ASSERT_TRUE(transaction.savepoint("s"));
    write(transaction, "b.txt", "A\n");
    ASSERT_TRUE(transaction.rollback_to("s"));
    write(transaction, "b.txt", "A\n");
    write(transaction, "b.txt", "b\n");
    ASSERT_TRUE(transaction.rollback_to("s"));
  };
  const std::vector<std::function<void(Transaction&)>> drops = {
      drop_calls, drop_edits, drop_undone_edits, return_to_savepoint};
  for (size_t i = 0; i < drops.size(); ++i) {
    auto transaction = *workspace_->begin_stored();
    edit(transaction, "a.txt", "2", "two");
    drops[i](transaction);
    const std::string repeated = write(transaction, "b.txt", "B\n");
    commit(transaction);
    const auto outcome = workspace_->rollback_execution(repeated);
    ASSERT_TRUE(outcome) << i << outcome.error().message;
    EXPECT_TRUE(std::holds_alternative<Receipt>(*outcome));
    EXPECT_EQ(tree_.read("b.txt"), "b\n");
    EXPECT_EQ(tree_.read("a.txt"), "1\ntwo\n3\n4\n5\n6\n7\n8\n9\n");
    tree_.write("a.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
  }
}

TEST_F(RollbackExecution, ACallBeforeAForkIsUndoneInTheCommitOfTheFork) {
  auto parent = *workspace_->begin_stored();
  const std::string before = write(parent, "b.txt", "B\n");
  ASSERT_TRUE(parent.save());
  auto without = *parent.fork();
  ASSERT_TRUE(without.rollback_execution(before));
  write(without, "d.txt", "d\n");
  auto fork = *parent.fork();
  const std::string after = write(parent, "a.txt", "a\n");
  ASSERT_TRUE(fork.save());
  auto grandchild = *fork.fork();
  write(grandchild, "c.txt", "c\n");
  EXPECT_EQ(workspace_->rollback_execution(before).error().reason, "rollback.open");
  commit(without);
  EXPECT_EQ(workspace_->rollback_execution(before).error().reason, "rollback.open");
  commit(grandchild);
  EXPECT_EQ(workspace_->rollback_execution(after).error().reason, "rollback.open");
  const auto outcome = workspace_->rollback_execution(before);
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_TRUE(std::holds_alternative<Receipt>(*outcome));
  EXPECT_EQ(tree_.read("b.txt"), "b\n");
  EXPECT_EQ(tree_.read("c.txt"), "c\n");
}

TEST_F(RollbackExecution, ACallOfAForkBuildsOnThoseOfItsParent) {
  auto parent = *workspace_->begin_stored();
  const std::string first = edit(parent, "a.txt", "2", "two");
  auto fork = *parent.fork();
  const std::string second = edit(fork, "a.txt", "8", "eight");
  commit(fork);
  const auto refused = workspace_->rollback_execution(second);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason, "rollback.built_on");
  EXPECT_THAT(refused.error().message, HasSubstr(first));
}

TEST_F(RollbackExecution, CallsOfOpenOrDroppedTransactionsAreErrors) {
  auto transaction = *workspace_->begin_stored();
  const std::string first = edit(transaction, "a.txt", "2", "two");
  const auto open = workspace_->rollback_execution(first);
  EXPECT_EQ(open.error().reason, "rollback.open");
  EXPECT_THAT(open.error().message, HasSubstr("--tx " + transaction.id()));
  ASSERT_TRUE(transaction.rollback());
  EXPECT_EQ(workspace_->rollback_execution(first).error().reason, "rollback.not_committed");
  EXPECT_EQ(workspace_->rollback_execution("exec-none").error().reason,
            "rollback.unknown_execution");
}

}  // namespace
}  // namespace galley
