#pragma once

#include <functional>
#include <memory>
#include <string>

#include <galley/workspace.h>
#include "base/clock.h"
#include "base/result.h"
#include "engine/pipeline/tree_cache.h"
#include "engine/policy/config.h"
#include "engine/policy/principals.h"
#include "staging/git/git_branch.h"
#include "staging/sandbox/command_runner.h"

namespace galley {

/// Opens the tree of a revision of a git repository as a workspace: the same transactions, tools,
/// rules and diffs, on contents as git stores them. The galley.toml of the tree counts. The tree is
/// laid out as files only for commands. The repository does not change. Neither the work tree nor
/// its `.galley` is read, so a bare repository is enough. Calls that would keep or commit something
/// are refused (kRefused `workspace.tree`). The result of a transaction is its proposal.
/// Workspace::open_git() opens a branch, which can get commits.
///
/// `directory` is in the repository. The option `runner` replaces the sandbox.
/// Errors: those of GitProgram and Workspace::open; kUsage `git.no_such_revision`.
[[nodiscard]] Result<std::unique_ptr<Workspace>> open_tree_workspace(const std::string& directory,
                                                                     const std::string& revision,
                                                                     WorkspaceOptions options = {});

/// As Workspace::open_git(), for a repository that is open.
[[nodiscard]] Result<std::unique_ptr<Workspace>> open_branch_workspace(
    const GitAccess& repository, const std::string& ref, WorkspaceOptions options = {});

/// The resources for the commands of one judgement.
struct TreeRunnerOptions {
  GitProgram git;
  std::shared_ptr<const GitTrees> trees;
  std::function<std::string()> tree;  ///< the base of the next command, which is laid out
  std::string home;  ///< see TreeCache; empty: a private directory that is removed with the runner
  Principals who;
  std::function<Result<std::string>()> scratch_home = {};  ///< as in GuardedRunnerOptions
};

/// Runs commands in the sandbox on a git tree. A tree is laid out for its first command.
///
/// Ownership: borrows configuration and clock; owns the sandbox and the lock on the tree.
/// Threads:   as CommandRunner.
[[nodiscard]] std::unique_ptr<CommandRunner> make_tree_runner(const Config& config,
                                                              TreeRunnerOptions options,
                                                              const Clock& clock);

}  // namespace galley
