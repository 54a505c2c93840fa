#pragma once

#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "staging/sandbox/command_runner.h"
#include "staging/sandbox/helper/request.h"
#include "staging/sandbox/layer_homes.h"
#include "staging/sandbox/read_back.h"

namespace galley {

/// Runs commands on a copy of the proposed tree, on machines without user namespaces or overlayfs.
/// Each run copies the whole tree into a private directory, and removes it afterwards:
///
///     tree/    the copy, where the command runs     tmp/   its TMPDIR, with its home
///     upper/   the changes of the command
///
/// Ownership: borrows everything that it is constructed from.
/// Threads:   run() may be called from several threads on distinct overlays.
class CopyRunner {
 public:
  /// The parts that a runner needs; all must outlive it.
  struct Parts {
    const LayerHomes& homes;
    const ReadBack& read_back;
    const Clock& clock;
    const std::string& helper;  ///< path of galley-sandbox
  };

  explicit CopyRunner(const Parts& parts) : parts_(parts) {}

  /// Runs the command and reads its effects. `request` must come from build_request().
  /// Errors: as CommandRunner::run; kRefused `sandbox.unavailable` for a command that keeps
  ///         directories between runs.
  Result<CommandResult> run(const Command& command, Overlay& overlay, SandboxRequest request);

 private:
  Parts parts_;
};

}  // namespace galley
