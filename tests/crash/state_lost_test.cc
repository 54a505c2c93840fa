#include <gtest/gtest.h>

#include "crash/cases.h"
#include "doubles/memory_directory.h"

namespace galley {
namespace {

class StateLostFacts : public testing::TestWithParam<CrashCase> {};

INSTANTIATE_TEST_SUITE_P(Of, StateLostFacts, testing::ValuesIn(crash_cases()),
                         [](const auto& shape) { return name_of_test(shape.param); });

/// `rm -rf` of a part of the state while a commit runs. The answer must be true. If the result is
/// not known, no message may say that the next command finishes the commit.
void remove_before_every_call(const CrashCase& shape, std::string_view part, size_t& lost) {
  for (size_t at = 1;; ++at) {
    const auto workspace = make_case(shape);
    const WritableDirectory& raw = *workspace.directory;
    const auto plan = std::make_shared<FaultPlan>();
    plan->at = at;
    plan->before = [&] {
      const AsRoot as_root(raw);
      ASSERT_TRUE(remove_tree(raw, rel(part)));
    };
    const auto outcome =
        publish(*make_fault_directory(open_memory_tree(workspace.tree), plan), *workspace.proposal);
    if (plan->calls.size() < at) break;
    const std::string where = shape.name + ": " + std::string(part) + " gone before call " +
                              std::to_string(at) + " (" + plan->calls[at - 1].name + " " +
                              plan->calls[at - 1].path + ")";
    const auto now = picture_of(raw);
    if (outcome && std::holds_alternative<Receipt>(*outcome)) {
      EXPECT_EQ(now, workspace.after) << where << difference(now, workspace.after);
      continue;
    }
    if (outcome || outcome.error().kind != ErrorKind::kUndecided) {
      EXPECT_EQ(now, workspace.before) << where << difference(now, workspace.before);
      continue;
    }
    const Error& error = outcome.error();
    if (error.reason == "commit.undecided") {
      // Promised: so it must come true.
      ASSERT_TRUE(reopen(raw)) << where;
      const auto then = picture_of(raw);
      EXPECT_TRUE(then == workspace.before || then == workspace.after) << where << error.message;
      continue;
    }
    ++lost;
    EXPECT_EQ(error.reason, "commit.state_lost") << where << ": " << error.message;
    EXPECT_EQ(error.message.find("the next galley command completes"), std::string::npos);
    const std::string first = "'" + workspace.proposal->changes().front().path.str() + "'";
    EXPECT_NE(error.message.find(first), std::string::npos) << error.message;
  }
}

TEST_P(StateLostFacts, LostStateNeverLeadsToAFalseResult) {
  size_t lost = 0;
  for (const auto* part : {".galley", ".galley/slot", ".galley/j"}) {
    remove_before_every_call(GetParam(), part, lost);
    if (HasFailure()) return;
  }
  if (GetParam().name == "six operations") {
    EXPECT_GT(lost, 0U);
  }
}

TEST(StateLost, StateLostAfterTheLastSwapIsAWarningInTheReceipt) {
  const auto workspace = make_case(crash_case("change one"));
  PublisherOptions options = test_options();
  options.after_apply = [] {};
  const auto plan = std::make_shared<FaultPlan>();
  ASSERT_TRUE(publish(*make_fault_directory(open_memory_tree(copy_of(*workspace.tree)), plan),
                      *workspace.proposal));
  const size_t calls = plan->calls.size();
  plan->calls.clear();
  plan->at = calls - 2;
  plan->before = [&] { ASSERT_TRUE(remove_tree(*workspace.directory, rel(".galley"))); };
  const auto outcome =
      publish(*make_fault_directory(open_memory_tree(workspace.tree), plan), *workspace.proposal);
  ASSERT_TRUE(outcome && std::holds_alternative<Receipt>(*outcome));
  const auto& warnings = std::get<Receipt>(*outcome).warnings;
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_NE(warnings[0].find("removed '.galley'"), std::string::npos) << warnings[0];
}

}  // namespace
}  // namespace galley
