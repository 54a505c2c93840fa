#pragma once

#include <string>
#include <string_view>

#include "engine/commit/outcome.h"
#include "engine/commit/publisher.h"
#include "engine/commit/recovery.h"
#include "engine/commit/state_directory.h"
#include "engine/commit/writer_lock.h"
#include "engine/policy/gate.h"
#include "staging/git/git_branch.h"
#include "staging/overlay/change_set.h"

namespace galley {

/// What an approval for a branch is based on.
struct JudgedTree {
  GitTip tip;           ///< the commit whose tree the gate judged the proposal on
  std::string verdict;  ///< the hash of that verdict, in hexadecimal
};

/// The branch that gets a commit.
struct BranchTarget {
  const GitBranch& branch;
  const StateDirectory& state;
  std::string state_path;  ///< absolute path of `state`
  const JudgedTree& judged;
};

/// The reason of a Conflict when a branch moved since the judgement.
inline constexpr std::string_view kBranchMoved = "conflict.branch_moved";

/// Returns why git cannot store these changes: a mode that is neither 0644 nor 0755, a change in a
/// submodule, a .gitmodules that is a link, or only empty directories.
/// Errors: kRefused `git.mode`, `git.submodule`, `git.modules_link`, `git.only_directories`.
[[nodiscard]] Result<void> check_git_can_store(const ChangeSet& changes, const GitBranch& branch);

/// The only code that moves a branch: it commits the proposal that `approval` names as one git
/// commit. It does not change files outside the repository (docs/adr/0101).
///
/// If the branch no longer has the judged commit, the outcome is a Conflict with the reason
/// `conflict.branch_moved`, even if no path of the proposal changed, because the gate has not
/// judged the proposal on the new tree.
///
/// Uses the durability, the timeout and the records of `options`. Hooks are not called, because no
/// file of a workspace changes.
/// Threads: any number of processes take turns by the writer lock of the state.
/// Errors:  kUndecided if the move of the branch may have happened; the next open decides. After
///          any other Error the branch has not moved. kRefused `git.checked_out`, and those of
///          check_git_can_store(), GitWriter and GitBranch; kIo `git.wrong_tree`.
Result<PublishOutcome> publish_to_branch(const BranchTarget& target, const Clock& clock,
                                         const PublisherOptions& options, const Proposal& proposal,
                                         const Approval& approval, const CommitMeta& meta);

/// Returns the conflict that publish_to_branch() would be on this tree, if any.
[[nodiscard]] Result<std::optional<Conflict>> find_conflict(const Proposal& proposal,
                                                            const Directory& tree);

/// Finishes the records of commits that a dead process made, and drops what it only prepared. A
/// commit was made if the branch has it in its history.
Result<RecoveryReport> recover_branch(const GitBranch& branch, const StateDirectory& state,
                                      WriterLock& lock, const Clock& clock,
                                      const RecoveryOptions& options);

/// The same at each open. Does nothing while another process holds the lock.
Result<RecoveryReport> recover_branch(const GitBranch& branch, const StateDirectory& state,
                                      const Clock& clock, const RecoveryOptions& options);

}  // namespace galley
