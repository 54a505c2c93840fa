#pragma once

#include <memory>
#include <string>

#include "base/clock.h"
#include "engine/check/tree_cache.h"
#include "engine/policy/config.h"
#include "engine/policy/principals.h"
#include "staging/sandbox/command_runner.h"

namespace galley {

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
