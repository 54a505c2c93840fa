#include <gtest/gtest.h>

#include "crash/cases.h"
#include "doubles/memory_directory.h"

namespace galley {
namespace {

size_t count_calls(const CrashCase& shape, bool has_exchange = true, bool has_no_replace = true) {
  const auto workspace = make_case(shape);
  const auto plan = std::make_shared<FaultPlan>();
  plan->has_exchange = has_exchange;
  plan->has_no_replace = has_no_replace;
  const auto outcome = publish_through(workspace, plan);
  EXPECT_TRUE(outcome && std::holds_alternative<Receipt>(*outcome))
      << shape.name << ": " << (outcome ? "conflict" : outcome.error().message);
  EXPECT_EQ(picture_of(*workspace.directory), workspace.after)
      << shape.name << "\n"
      << difference(picture_of(*workspace.directory), workspace.after);
  return plan->calls.size();
}

class KillFacts : public testing::TestWithParam<CrashCase> {};

INSTANTIATE_TEST_SUITE_P(Of, KillFacts, testing::ValuesIn(crash_cases()),
                         [](const auto& shape) { return name_of_test(shape.param); });

TEST_P(KillFacts, AKillAtAnyCallOfACommitLeavesTheOldOrTheNewTree) {
  const CrashCase& shape = GetParam();
  const size_t calls = count_calls(shape);
  CrashRow row("kill: " + shape.name);
  row.set_calls(calls);
  for (size_t at = 1; at <= calls; ++at) {
    const auto workspace = make_case(shape);
    const auto plan = std::make_shared<FaultPlan>();
    plan->at = at;
    plan->kills = true;
    static_cast<void>(publish_through(workspace, plan));
    const std::string where = "killed before call " + std::to_string(at) + " (" +
                              plan->calls[at - 1].name + " " + plan->calls[at - 1].path + ")";
    const auto report = reopen(*workspace.directory);
    ASSERT_TRUE(report) << where << ": " << report.error().message;
    row.judge(*workspace.directory, workspace.before, workspace.after, where);
    EXPECT_TRUE(reopen(*workspace.directory)->is_clean()) << where;
    row.judge_next(*workspace.directory, where);
    if (HasFailure()) return;
  }
  EXPECT_GT(row.old_trees(), 0U);
  EXPECT_GT(row.new_trees(), 0U);
}

TEST_P(KillFacts, AKillAtAnyCallOfRecoveryLeavesTheOldOrTheNewTree) {
  const CrashCase& shape = GetParam();
  const size_t calls = count_calls(shape);
  CrashRow row("kill, then kill recovery: " + shape.name);
  const size_t stride = stride_of(shape, 11);
  for (size_t at = 1; at <= calls; at += stride) {
    const auto workspace = make_case(shape);
    const auto plan = std::make_shared<FaultPlan>();
    plan->at = at;
    plan->kills = true;
    static_cast<void>(publish_through(workspace, plan));
    for (size_t then = 1;; ++then) {
      const auto killed = copy_of(*workspace.tree);
      const auto recovery = std::make_shared<FaultPlan>();
      recovery->at = then;
      recovery->kills = true;
      static_cast<void>(reopen(*make_fault_directory(open_memory_tree(killed), recovery)));
      if (!recovery->is_dead) break;
      row.set_calls(then);
      const std::string where =
          "call " + std::to_string(at) + ", recovery call " + std::to_string(then);
      const auto left = open_memory_tree(killed);
      const auto report = reopen(*left);
      ASSERT_TRUE(report) << where << ": " << report.error().message;
      row.judge(*left, workspace.before, workspace.after, where);
      row.judge_next(*left, where);
      if (HasFailure()) return;
    }
  }
}

TEST_P(KillFacts, AKillWithoutRenameFlagsLeavesTheOldOrTheNewTree) {
  const CrashCase& shape = GetParam();
  for (const bool has_no_replace : {true, false}) {
    const size_t calls = count_calls(shape, false, has_no_replace);
    CrashRow row(std::string(has_no_replace ? "no EXCHANGE" : "no flags") + ": " + shape.name);
    row.set_calls(calls);
    for (size_t at = 1; at <= calls; ++at) {
      const auto workspace = make_case(shape);
      const auto plan = std::make_shared<FaultPlan>();
      plan->at = at;
      plan->kills = true;
      plan->has_exchange = false;
      plan->has_no_replace = has_no_replace;
      static_cast<void>(publish_through(workspace, plan));
      const auto after = std::make_shared<FaultPlan>();
      after->has_exchange = false;
      after->has_no_replace = has_no_replace;
      const auto report = reopen(*make_fault_directory(open_memory_tree(workspace.tree), after));
      const std::string where = "killed before call " + std::to_string(at);
      ASSERT_TRUE(report) << where << ": " << report.error().message;
      row.judge(*workspace.directory, workspace.before, workspace.after, where);
      row.judge_next(*workspace.directory, where);
      if (HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace galley
