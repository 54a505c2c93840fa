#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>

#include "crash/cases.h"
#include "doubles/memory_directory.h"

namespace galley {
namespace {

bool creates_or_writes(const FaultCall& call) {
  return call.mutates && call.name != "remove_file" && call.name != "remove_directory";
}

struct Fault {
  int os_error;
  bool is_lasting;
  std::function<bool(const FaultCall&)> affects;
};

std::vector<Fault> faults() {
  const auto opens = [](const FaultCall& call) {
    return call.name == "open_file" || call.name == "open_directory" || call.name == "list";
  };
  const auto mutates = [](const FaultCall& call) { return call.mutates; };
  std::vector<Fault> all;
  for (const bool is_lasting : {false, true}) {
    all.push_back({EIO, is_lasting, {}});
    all.push_back({ENOSPC, is_lasting, creates_or_writes});
    all.push_back({EDQUOT, is_lasting, creates_or_writes});
    all.push_back({EMFILE, is_lasting, opens});
    all.push_back({EROFS, is_lasting, mutates});
    all.push_back({EACCES, is_lasting, {}});
    all.push_back({EINTR, is_lasting, {}});
    all.push_back({EPERM, is_lasting, mutates});
  }
  return all;
}

/// The promise of the answer must hold, at once and after the next open.
void expect_promise(CrashRow& row, const CaseWorkspace& workspace,
                    const Result<PublishOutcome>& outcome, const std::string& where) {
  const bool is_undecided = !outcome && outcome.error().kind == ErrorKind::kUndecided;
  const bool is_new = outcome && std::holds_alternative<Receipt>(*outcome);
  const TreePicture& want = is_new ? workspace.after : workspace.before;
  if (!is_undecided) {
    EXPECT_EQ(picture_of(*workspace.directory), want)
        << where << (is_new ? ": success, but not the new tree" : ": failure, but not the old tree")
        << "\n"
        << difference(picture_of(*workspace.directory), want);
  }
  const auto report = reopen(*workspace.directory);
  ASSERT_TRUE(report) << where << ": " << report.error().message;
  row.judge(*workspace.directory, workspace.before, workspace.after, where);
  if (!is_undecided) {
    EXPECT_EQ(picture_of(*workspace.directory), want)
        << where << ": the next open changed what was answered";
  }
  // The lock is free and the next commit works.
  const auto next = publish(*workspace.directory,
                            ChangeBuilder(*workspace.directory).write("next", "n").proposal());
  EXPECT_TRUE(next && std::holds_alternative<Receipt>(*next))
      << where << (next ? "" : next.error().message);
}

class ErrorFacts : public testing::TestWithParam<CrashCase> {};

INSTANTIATE_TEST_SUITE_P(Of, ErrorFacts, testing::ValuesIn(crash_cases()),
                         [](const auto& shape) { return name_of_test(shape.param); });

TEST_P(ErrorFacts, AnErrorAtAnyCallLeavesTheOldOrTheNewTree) {
  const CrashCase& shape = GetParam();
  CrashRow row("errors: " + shape.name);
  size_t undecided = 0;
  for (const Fault& fault : faults()) {
    for (size_t at = 1;; at += stride_of(shape, 3)) {
      const auto workspace = make_case(shape);
      const auto plan = std::make_shared<FaultPlan>();
      plan->at = at;
      plan->os_error = fault.os_error;
      plan->is_lasting = fault.is_lasting;
      plan->affects = fault.affects;
      const auto outcome = publish_through(workspace, plan);
      if (plan->calls.size() < at) break;
      if (!plan->has_failed) continue;
      row.set_calls(at);
      const std::string where = shape.name + ": " + std::strerror(fault.os_error) +
                                (fault.is_lasting ? " from" : " at") + " call " +
                                std::to_string(at) + " (" + plan->calls[at - 1].name + " " +
                                plan->calls[at - 1].path + ")";
      undecided += !outcome && outcome.error().kind == ErrorKind::kUndecided ? 1 : 0;
      expect_promise(row, workspace, outcome, where);
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(undecided, 0U) << "a lasting error after the commit point cannot be put back";
}

TEST_P(ErrorFacts, HalfWritesAndErrorsWithoutRenameFlagsLeaveTheOldOrTheNewTree) {
  const CrashCase& shape = GetParam();
  for (const bool has_flags : {true, false}) {
    CrashRow row(std::string(has_flags ? "half writes: " : "errors, no flags: ") + shape.name);
    for (const bool is_lasting : {false, true}) {
      for (size_t at = 1;; ++at) {
        const auto workspace = make_case(shape);
        const auto plan = std::make_shared<FaultPlan>();
        plan->at = at;
        plan->os_error = has_flags ? ENOSPC : EIO;
        plan->is_lasting = is_lasting;
        plan->writes_half = true;
        plan->has_exchange = has_flags;
        plan->has_no_replace = has_flags;
        if (has_flags) plan->affects = [](const auto& call) { return call.name == "write_at"; };
        const auto outcome = publish_through(workspace, plan);
        if (plan->calls.size() < at) break;
        if (!plan->has_failed) continue;
        row.set_calls(at);
        expect_promise(row, workspace, outcome,
                       shape.name + ": call " + std::to_string(at) + " (" +
                           plan->calls[at - 1].name + " " + plan->calls[at - 1].path + ")" +
                           (is_lasting ? " lasting" : ""));
        if (HasFailure()) return;
      }
    }
  }
}

TEST_P(ErrorFacts, AfterAFailedRecoveryTheNextOneSucceeds) {
  const CrashCase& shape = GetParam();
  CrashRow row("errors in recovery: " + shape.name);
  const size_t calls = [&] {
    const auto workspace = make_case(shape);
    const auto plan = std::make_shared<FaultPlan>();
    EXPECT_TRUE(publish_through(workspace, plan));
    return plan->calls.size();
  }();
  constexpr size_t kStride = 7;
  for (size_t killed = calls; killed > 0; killed -= std::min(kStride, killed)) {
    const auto workspace = make_case(shape);
    const auto plan = std::make_shared<FaultPlan>();
    plan->at = killed;
    plan->kills = true;
    static_cast<void>(publish_through(workspace, plan));
    for (const int code : {EIO, ENOSPC}) {
      for (size_t at = 1;; at += stride_of(shape, 5)) {
        const auto tree = copy_of(*workspace.tree);
        const auto left = open_memory_tree(tree);
        const auto spoil = std::make_shared<FaultPlan>();
        spoil->at = at;
        spoil->os_error = code;
        static_cast<void>(reopen(*make_fault_directory(open_memory_tree(tree), spoil)));
        if (spoil->calls.size() < at) break;
        row.set_calls(at);
        const std::string where =
            "killed at " + std::to_string(killed) + ", recovery error at " + std::to_string(at);
        const auto report = reopen(*left);
        ASSERT_TRUE(report) << where << ": " << report.error().message;
        row.judge(*left, workspace.before, workspace.after, where);
        row.judge_next(*left, where);
        if (HasFailure()) return;
      }
    }
  }
}

}  // namespace
}  // namespace galley
