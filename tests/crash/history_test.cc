#include <gtest/gtest.h>

#include <algorithm>

#include "crash/cases.h"
#include "doubles/memory_directory.h"
#include "engine/commit/history_reader.h"
#include "engine/commit/leftovers.h"
#include "engine/commit/retire.h"
#include "engine/history/retention.h"
#include "engine/history/undo.h"

namespace galley {
namespace {

StateDirectory state_of(const WritableDirectory& workspace) {
  auto state = StateDirectory::open(workspace);
  EXPECT_TRUE(state && *state);
  return std::move(**state);
}

// --- undo -----------------------------------------------------------------------------------

class UndoKillFacts : public testing::TestWithParam<CrashCase> {};

INSTANTIATE_TEST_SUITE_P(Of, UndoKillFacts, testing::ValuesIn(crash_cases()),
                         [](const auto& shape) { return name_of_test(shape.param); });

TEST_P(UndoKillFacts, AKillAtAnyCallLeavesTheWholeTreeUndoneOrUnchanged) {
  const CrashCase& shape = GetParam();
  // The owner has to chmod first, which is a change of his own.
  if (shape.is_as_user && shape.is_unreadable) return;
  const auto workspace = make_case(shape);
  const auto done = publish(*workspace.directory, *workspace.proposal);
  ASSERT_TRUE(done && std::holds_alternative<Receipt>(*done));
  const StateDirectory state = state_of(*workspace.directory);
  const History history(state);
  const auto planned =
      plan_undo(history, *workspace.directory, std::get<Receipt>(*done).id, kSystemClock);
  ASSERT_TRUE(planned) << planned.error().message;
  ASSERT_TRUE(std::holds_alternative<UndoPlan>(*planned)) << shape.name;
  const Proposal& undo = std::get<UndoPlan>(*planned).proposal;
  CrashRow row("kill undo: " + shape.name);
  for (size_t at = 1;; ++at) {
    const auto tree = copy_of(*workspace.tree);
    const auto plan = std::make_shared<FaultPlan>();
    plan->at = at;
    plan->kills = true;
    static_cast<void>(publish(*make_fault_directory(open_memory_tree(tree), plan), undo));
    const auto left = open_memory_tree(tree);
    const std::string where = "killed before call " + std::to_string(at);
    const auto report = reopen(*left);
    ASSERT_TRUE(report) << where << ": " << report.error().message;
    row.judge(*left, workspace.after, workspace.before, where);
    if (HasFailure()) return;
    if (!plan->is_dead) break;
    row.set_calls(at);
  }
  EXPECT_GT(row.old_trees(), 0U);
  EXPECT_GT(row.new_trees(), 0U);
}

// --- gc -------------------------------------------------------------------------------------

constexpr size_t kTransactions = 5;
constexpr size_t kKept = 2;

/// As `galley gc` goes: retires what is finished, clears what dead processes left, prunes.
Result<void> collect(const WritableDirectory& workspace) {
  GALLEY_ASSIGN(const auto opened, StateDirectory::open(workspace));
  const StateDirectory& state = *opened;
  GALLEY_ASSIGN(auto lock, WriterLock::take(state, kSystemClock, std::chrono::seconds(1)));
  GALLEY_ASSIGN(const auto ids, journal_ids(state.journals()));
  GALLEY_TRY(retire(workspace, state, lock, ids, {state.session(kBoot)}));
  GALLEY_TRY(clear_leftovers(workspace, state, lock, kSystemClock, {std::chrono::hours(1)}));
  HistoryConfig limits;
  limits.keep_transactions = kKept;
  GALLEY_TRY(prune_history(state, limits, kSystemClock, false));
  return {};
}

void expect_contents(const CommittedTransaction& transaction, const std::string& where) {
  for (const JournalOp& op : transaction.journal.ops) {
    for (const Node* node : {&op.before.node, &op.after.node}) {
      if (node->kind != FileKind::kRegular) continue;
      const auto content = transaction.store->get(node->content);
      EXPECT_TRUE(content) << where << ": " << (content ? "" : content.error().message);
    }
  }
}

/// Returns the ids of the history. It must be readable, without gaps, and end with the newest.
std::vector<TxId> history_of(const WritableDirectory& workspace, const std::string& where) {
  const StateDirectory state = state_of(workspace);
  const auto ids = committed_ids(state);
  EXPECT_TRUE(ids) << where;
  if (!ids) return {};
  for (size_t i = 0; i < ids->size(); ++i) {
    EXPECT_EQ((*ids)[i].value, kTransactions - ids->size() + 1 + i) << where << ": a gap";
    const auto loaded = load_committed(state, (*ids)[i]);
    EXPECT_TRUE(loaded) << where << ": " << (loaded ? "" : loaded.error().message);
    if (loaded) expect_contents(*loaded, where);
  }
  return *ids;
}

TEST(DeltaKillFacts, AKillAtAnyCallOfACommitLeavesTheContentsOfBothSides) {
  const std::string large(kMaxImageBytes + 1, 'x');
  const CrashCase shape = {"a small change of a large file",
                           [&](const WritableDirectory& ws) { put_file(ws, "a", large); },
                           [&](ChangeBuilder& change) { change.write("a", large + "end"); }};
  CrashRow row("kill: " + shape.name);
  for (size_t at = 1;; ++at) {
    const auto workspace = make_case(shape);
    const auto plan = std::make_shared<FaultPlan>();
    plan->at = at;
    plan->kills = true;
    static_cast<void>(publish_through(workspace, plan));
    const std::string where = "killed before call " + std::to_string(at);
    const auto report = reopen(*workspace.directory);
    ASSERT_TRUE(report) << where << ": " << report.error().message;
    row.judge(*workspace.directory, workspace.before, workspace.after, where);
    const StateDirectory state = state_of(*workspace.directory);
    const auto ids = committed_ids(state);
    ASSERT_TRUE(ids) << where;
    for (const TxId id : *ids) expect_contents(*load_committed(state, id), where);
    if (HasFailure()) return;
    if (!plan->is_dead) break;
    row.set_calls(at);
  }
  EXPECT_GT(row.old_trees(), 0U);
  EXPECT_GT(row.new_trees(), 0U);
}

TEST(GcKillFacts, AKillAtAnyCallLeavesAHistoryWithoutGaps) {
  const auto tree = std::make_shared<MemoryTree>();
  const auto workspace = open_memory_tree(tree);
  put_file(*workspace, "a", "0");
  // The second one is the base of the later ones.
  const std::string large(kMaxImageBytes + 1, 'x');
  for (size_t i = 1; i <= kTransactions; ++i) {
    const std::string content = i == 1 ? std::string(large.size(), 'y') : large + std::to_string(i);
    const auto done = publish(*workspace, ChangeBuilder(*workspace).write("a", content).proposal());
    ASSERT_TRUE(done && std::holds_alternative<Receipt>(*done));
  }
  const TreePicture picture = picture_of(*workspace);
  CrashRow row("kill gc");
  bool is_done = false;
  for (size_t at = 1; !is_done; ++at) {
    const auto copy = copy_of(*tree);
    const auto plan = std::make_shared<FaultPlan>();
    plan->at = at;
    plan->kills = true;
    static_cast<void>(collect(*make_fault_directory(open_memory_tree(copy), plan)));
    is_done = !plan->is_dead;
    const auto left = open_memory_tree(copy);
    const std::string where = "killed before call " + std::to_string(at);
    ASSERT_TRUE(reopen(*left)) << where;
    const size_t kept = history_of(*left, where).size();
    EXPECT_TRUE(kept >= kKept && kept <= kTransactions) << where;
    const auto again = collect(*left);
    ASSERT_TRUE(again) << where << ": " << again.error().message;
    EXPECT_EQ(history_of(*left, where).size(), kKept) << where;
    // Old: nothing had gone yet. New: something had, and the next run finishes it.
    row.judge_history(*left, picture, kept == kTransactions, where);
    row.set_calls(at);
    if (HasFailure()) return;
  }
  EXPECT_GT(row.old_trees(), 0U);
  EXPECT_GT(row.new_trees(), 0U);
}

}  // namespace
}  // namespace galley
