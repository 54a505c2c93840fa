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

/// How the commands of one workspace are run.
struct SandboxOptions {
  std::string workspace;  ///< any path of the workspace's root
  /// Where commands write: `.galley/stage/<tx>` of a transaction that outlives the process, so that
  /// contents reach its store by rename. Empty: a private directory below $TMPDIR that goes with
  /// the runner, so that nothing is written into the workspace.
  std::string layer_home;
  /// Where the layers lie that show the proposed tree and hold git-ignored outputs; overlayfs wants
  /// them outside the workspace. Empty: in the layer home when that is outside, else in a private
  /// directory below $TMPDIR, which goes with the runner.
  std::string scratch_home;
  std::string keep_home;    ///< where Command::keep persists; empty: in the layer home
  std::string helper;       ///< path of galley-sandbox; empty: looked for beside this program
  bool allow_copy = false;  ///< without namespaces, run on a copy of the tree instead of refusing
  bool force_copy = false;  ///< always run on a copy: for tests and for comparing
  std::vector<std::string> pass_environment;  ///< names taken over from our own environment
  std::vector<std::string> readable;          ///< more of the host's directories, read-only
  /// The folder of the repository that the workspace is a linked work tree of: shown, and written
  /// by nobody but a live run, in a layer. Empty: none.
  std::string git_common;
  IgnoreRule is_ignored;  ///< empty: nothing is ignored
};

/// Starts the helper of this process's first sandbox, which makes its namespaces while the caller
/// reads its options and opens the workspace; make_sandbox() takes it. One that nobody takes ends
/// with the process. Where it cannot be started, make_sandbox() says why.
///
/// Threads: safe to call from any.
void start_first_helper();

/// Makes the runner that puts walls around commands. It starts the helper of the first command at
/// once, so make it when there is a command to run.
///
/// Ownership: the runner owns its layers and removes those it made in a private directory; borrows
///            the clock.
/// Errors:    kRefused `sandbox.unavailable` when no place for layers can be found or the helper
///            program is missing. What the kernel refuses shows at the first run.
[[nodiscard]] Result<std::unique_ptr<CommandRunner>> make_sandbox(SandboxOptions options,
                                                                  const Clock& clock);

/// Starts `command` behind the same walls on the tree that `overlay` proposes, and returns while it
/// runs. Nothing is staged: what it writes lies in the layers that `live` names, so of `options`
/// those for layers are not read, nor those for copies.
/// Errors: as make_sandbox() and CommandRunner have them.
[[nodiscard]] Result<std::unique_ptr<LiveRun>> start_live_run(SandboxOptions options,
                                                              const Command& command,
                                                              const LiveOptions& live,
                                                              const Overlay& overlay);

}  // namespace galley
