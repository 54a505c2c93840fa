#pragma once

#include <memory>
#include <string>

#include <galley/workspace.h>
#include "base/clock.h"
#include "base/result.h"
#include "engine/check/tree_cache.h"
#include "engine/policy/config.h"
#include "engine/policy/principals.h"
#include "staging/sandbox/command_runner.h"

namespace galley {

/// Opens the tree of a revision of a git repository as a workspace: the same transactions, tools,
/// rules and diffs, on contents as git stores them. The galley.toml of the tree counts. Nothing is
/// laid out but for commands, and nothing is written: neither the work tree nor its `.galley` is
/// looked at, a bare repository will do, and whatever would keep or commit something is refused
/// (kRefused `workspace.tree`). What comes out of a transaction is its proposal.
///
/// `directory` lies in the repository. Of the options `runner` counts before the sandbox.
/// Errors: those of GitProgram and Workspace::open; kUsage `git.no_such_revision`.
[[nodiscard]] Result<std::unique_ptr<Workspace>> open_tree_workspace(const std::string& directory,
                                                                     const std::string& revision,
                                                                     WorkspaceOptions options = {});

/// What the commands of one judgement run on.
struct TreeRunnerOptions {
  GitProgram git;
  const GitTrees& trees;
  std::string tree;  ///< the base, which is laid out
  std::string home;  ///< as TreeCache's; empty: a private directory that goes with the runner
  Principals who;
};

/// Runs commands in the sandbox on a tree of git, which is laid out when the first one is run.
///
/// Ownership: borrows trees, configuration and clock; owns the sandbox and the hold on the tree.
[[nodiscard]] std::unique_ptr<CommandRunner> make_tree_runner(const Config& config,
                                                              TreeRunnerOptions options,
                                                              const Clock& clock);

}  // namespace galley
