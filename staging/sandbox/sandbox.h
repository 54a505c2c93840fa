#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "staging/sandbox/absorb.h"
#include "staging/sandbox/command_runner.h"
#include "staging/sandbox/live_run.h"

namespace galley {

/// Options for running the commands of one workspace.
struct SandboxOptions {
  std::string workspace;  ///< a path of the workspace's root, possibly through links
  /// The home of upper layers: `.galley/stage/<tx>` for a transaction that outlives the process, so
  /// that contents reach its store by rename. Empty: a private directory below $TMPDIR that is
  /// removed with the runner, so that nothing is written into the workspace.
  std::string layer_home;
  /// The home of the layers that show the proposed tree and hold git-ignored outputs; overlayfs
  /// requires a place outside the workspace. Empty: in the layer home if that is outside, else in a
  /// private directory below $TMPDIR, which is removed with the runner.
  std::string scratch_home;
  std::string keep_home;    ///< where Command::keep persists; empty: in the layer home
  std::string helper;       ///< path of galley-sandbox; empty: searched for next to this program
  bool allow_copy = false;  ///< without namespaces, run on a copy of the tree instead of refusing
  bool force_copy = false;  ///< always run on a copy: for tests and comparisons
  std::vector<std::string> pass_environment;  ///< names copied from this process's environment
  std::vector<std::string> readable;          ///< more of the host's directories, read-only
  /// The folder of the repository, if it lies elsewhere (GitFiles::repository_elsewhere()). It is
  /// visible, and only a live run can write it, in a layer. Empty: none.
  std::string git_common;
  IgnoreRule is_ignored;  ///< empty: nothing is ignored
};

/// Starts the helper of this process's first sandbox in advance. It makes its namespaces while the
/// caller reads its options and opens the workspace. make_sandbox() takes it; an unused one ends
/// with the process. If it cannot be started, make_sandbox() reports why.
///
/// Threads: safe to call from any.
void start_first_helper();

/// Makes the runner of sandboxed commands. It starts the helper of the first command at once, so
/// make it only when there is a command to run.
///
/// Ownership: the runner owns its layers and removes those in a private directory; borrows the
///            clock.
/// Errors:    kRefused `sandbox.unavailable` when no place for layers can be found or the helper
///            program is missing. If the kernel refuses namespaces, only the first run reports
///            this.
[[nodiscard]] Result<std::unique_ptr<CommandRunner>> make_sandbox(SandboxOptions options,
                                                                  const Clock& clock);

/// Starts `command` in the same sandbox on the tree that `overlay` proposes, and returns while it
/// runs. Nothing is staged: it writes to the layers that `live` names, so the options for layers
/// and for copies are ignored.
/// Errors: those of make_sandbox() and CommandRunner.
[[nodiscard]] Result<std::unique_ptr<LiveRun>> start_live_run(SandboxOptions options,
                                                              const Command& command,
                                                              const LiveOptions& live,
                                                              const Overlay& overlay);

}  // namespace galley
