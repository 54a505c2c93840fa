#include <gtest/gtest.h>

#include <cerrno>

#include "doubles/fault_directory.h"
#include "engine/commit/branch_publisher.h"
#include "engine/commit/history_reader.h"
#include "staging/fs/disk_directory.h"
#include "support/commit_fixture.h"
#include "support/scratch_directory.h"
#include "support/scratch_repository.h"

namespace galley {
namespace {

/// A branch that is not checked out, and its state in another directory.
class BranchKillFacts : public testing::Test {
 protected:
  void SetUp() override {
    repository_.init("-b trunk");
    repository_.write("a", "a");
    repository_.commit("start");
    repository_.git("branch main");
  }

  /// Makes a file named `name`. With a plan, the process may die on the way.
  void commit(const std::string& name, const std::shared_ptr<FaultPlan>& plan) {
    auto home = open_writable_disk_directory(home_.path());
    ASSERT_TRUE(home);
    if (plan) home = make_fault_directory(std::move(*home), plan);
    const auto branch = GitBranch::open(GitAccess::open(repository_.path()).value(), "main");
    ASSERT_TRUE(branch) << branch.error().message;
    const auto state = StateDirectory::open_or_create(**home);
    if (!state) return;
    if (!plan) {
      ASSERT_TRUE(recover_branch(**branch, *state, SystemClock(), recovery_options()));
    }
    const auto empty = open_memory_tree(std::make_shared<MemoryTree>());
    ChangeBuilder change(*empty);
    change.write(name, "new");
    const Proposal proposal = change.proposal();
    const JudgedTree judged{*(*branch)->follow(), ""};
    const BranchTarget target{**branch, *state, home_.path() + "/.galley", judged};
    const auto outcome =
        publish_to_branch(target, SystemClock(), test_options(), proposal,
                          ApprovalForTests::of(proposal), {"agent", "make " + name, "", {}, {}});
    if (plan) return;
    ASSERT_TRUE(outcome) << outcome.error().message;
    EXPECT_TRUE(std::holds_alternative<Receipt>(*outcome));
  }

  static RecoveryOptions recovery_options() {
    RecoveryOptions options;
    options.boot_id = kBoot;
    return options;
  }
  /// Each call fails once with this error, or the process dies before it; then another commit is
  /// made.
  void interrupt_each_call(int os_error) {
    commit("first", nullptr);
    for (size_t at = 1;; ++at) {
      const auto plan = std::make_shared<FaultPlan>();
      plan->at = at;
      plan->os_error = os_error;
      plan->kills = os_error == 0;
      commit("interrupted" + std::to_string(at), plan);
      commit("then" + std::to_string(at), nullptr);
      ASSERT_EQ(commits_of_history(), commits_of_branch()) << "interrupted at call " << at;
      if (!plan->is_dead && !plan->has_failed) break;
    }
  }

  [[nodiscard]] size_t commits_of_branch() const {
    return std::stoul(repository_.output_of("rev-list --count trunk..main"));
  }
  [[nodiscard]] size_t commits_of_history() const {
    const auto home = open_writable_disk_directory(home_.path());
    return committed_ids(**StateDirectory::open(**home))->size();
  }

  ScratchRepository repository_;
  ScratchDirectory home_;
};

TEST_F(BranchKillFacts, AfterAKillAtAnyCallTheHistoryHasEveryCommitOfTheBranch) {
  interrupt_each_call(0);
}

TEST_F(BranchKillFacts, AfterAnErrorAtAnyCallTheHistoryHasEveryCommitOfTheBranch) {
  interrupt_each_call(ENOSPC);
}

}  // namespace
}  // namespace galley
