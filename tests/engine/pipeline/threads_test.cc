// One workspace, many threads, each with a transaction of its own.
#include <gtest/gtest.h>

#include <latch>
#include <string>
#include <thread>
#include <vector>

#include "engine/audit/audit.h"
#include "engine/history/history.h"
#include "engine/history/undo.h"
#include "engine/pipeline/transaction_state.h"
#include "support/temp_directory.h"

namespace galley {
namespace {

constexpr int kThreads = 16;
constexpr int kUndoEvery = 4;

std::string file_of(int i) { return "own/" + std::to_string(i) + ".txt"; }

/// The work of one thread with its own files.
class Worker {
 public:
  Worker(Workspace& workspace, int number) : workspace_(workspace), number_(number) {}

  Result<void> run() {
    GALLEY_ASSIGN(const TxId id, commit());
    return number_ % kUndoEvery == 0 ? take_back(id) : Result<void>();
  }

 private:
  [[nodiscard]] TransactionOptions who() const {
    return {"agent-" + std::to_string(number_), "a thread of its own"};
  }

  Result<TxId> commit() {
    const bool is_stored = number_ % 2 == 1;
    GALLEY_ASSIGN(Transaction transaction,
                  is_stored ? workspace_.begin_stored(who()) : workspace_.begin(who()));
    GALLEY_TRY(transaction.edit(file_of(number_), "old", "new").outcome());
    const std::string made = "made/" + std::to_string(number_) + ".json";
    const ToolResult written =
        transaction.call("Write", R"({"file_path": ")" + made + R"(", "content": "{}\n"})")
            .result();
    if (!written.ok) return fail(ErrorKind::kInternal, "test.call", written.error->message);
    GALLEY_TRY(workspace_.tools());
    GALLEY_TRY(transaction.save());
    GALLEY_TRY(workspace_.stages());
    GALLEY_ASSIGN(const Preview preview, transaction.preview());
    CommitRequest request;
    request.expected = preview.proposal.id();
    GALLEY_ASSIGN(const CommitOutcome outcome, transaction.commit(request));
    return id_of(outcome);
  }

  Result<void> take_back(TxId id) {
    const History history(*persistent_of(workspace_).state());
    GALLEY_ASSIGN(const UndoOutcome plan, plan_undo(history, place_of(workspace_).files(), id,
                                                    place_of(workspace_).clock()));
    const auto* back = std::get_if<UndoPlan>(&plan);
    if (back == nullptr) return fail(ErrorKind::kInternal, "test.undo", "nothing to take back");
    CommitRequest request;
    request.undoes = id;
    GALLEY_ASSIGN(const CommitOutcome outcome, workspace_.commit(back->proposal, who(), request));
    GALLEY_TRY(id_of(outcome));
    return {};
  }

  static Result<TxId> id_of(const CommitOutcome& outcome) {
    if (const auto* receipt = std::get_if<Receipt>(&outcome)) return receipt->id;
    return fail(ErrorKind::kInternal, "test.commit",
                "outcome " + std::to_string(outcome.index()) + " is no receipt");
  }

  Workspace& workspace_;
  int number_;
};

TEST(Threads, SixteenTransactionsOfOneWorkspaceRunInParallel) {
  TempDirectory tree;
  tree.write("galley.toml",
             "[[validator]]\nname = \"json\"\nbuiltin = \"json\"\n"
             "[commit]\ndurability = \"none\"\nlock_timeout_ms = 120000\n");
  for (int i = 0; i < kThreads; ++i) tree.write(file_of(i), "old\n");
  tree.write("made/here", "");
  auto opened = Workspace::open(tree.path());
  ASSERT_TRUE(opened) << opened.error().message;
  Workspace& workspace = **opened;

  // `.galley`, the audit log, the tools and the cache do not exist yet.
  std::vector<Result<void>> results(kThreads);
  std::latch begin(kThreads);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      begin.arrive_and_wait();
      results[i] = Worker(workspace, i).run();
    });
  }
  for (std::thread& thread : threads) thread.join();

  for (int i = 0; i < kThreads; ++i) {
    ASSERT_TRUE(results[i]) << i << ": " << results[i].error().message;
    const bool is_back = i % kUndoEvery == 0;
    EXPECT_EQ(tree.read(file_of(i)), is_back ? "old\n" : "new\n") << i;
    EXPECT_EQ(tree.exists("made/" + std::to_string(i) + ".json"), !is_back) << i;
  }
  const auto stages = workspace.stages();
  ASSERT_TRUE(stages);
  EXPECT_TRUE(stages->empty());
  const auto listed = History(*persistent_of(workspace).state()).list();
  ASSERT_TRUE(listed);
  EXPECT_EQ(listed->size(), size_t{kThreads + kThreads / kUndoEvery});
  const auto audit = persistent_of(workspace).verify_audit();
  ASSERT_TRUE(audit) << audit.error().message;
  EXPECT_TRUE(audit->is_intact()) << audit->defects.front().message;
  EXPECT_GE(audit->records, size_t{kThreads + kThreads / kUndoEvery});
}

}  // namespace
}  // namespace galley
