#pragma once

#include <optional>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "staging/sandbox/command_runner.h"
#include "staging/sandbox/helper_process.h"
#include "staging/sandbox/layer_homes.h"
#include "staging/sandbox/read_back.h"
#include "staging/sandbox/retention_set.h"
#include "staging/sandbox/run_pool.h"

namespace galley {

/// Runs commands in their own namespaces, on overlayfs:
///
///     lower layers, topmost first       upper layer
///     changes/<n>  the change set       run/<n>/upper  this command's effects
///     scratch      what git ignores
///     workspace
///
/// Ownership: owns its layers and helpers; borrows its parts.
/// Threads:   run() may be called from several threads on distinct overlays.
class NamespaceRunner {
 public:
  /// The parts of a runner; all of them must outlive it.
  struct Parts {
    const Directory& workspace;
    const LayerHomes& homes;
    const ReadBack& read_back;
    const Clock& clock;
    const std::string& helper;     ///< path of galley-sandbox
    const std::string& keep_home;  ///< where Command::keep persists
  };

  /// `first` is a helper for the first command, if one was started already.
  NamespaceRunner(const Parts& parts, std::optional<WaitingProcess> first);

  /// Runs the command and reads its effects back. build_request() makes `request`.
  /// Errors: as CommandRunner::run.
  Result<CommandResult> run(const Command& command, Overlay& overlay, SandboxRequest request);

  /// Takes the waiting helper for a command that runs in another way; nothing if there is none.
  std::optional<WaitingProcess> take_helper() { return pool_.take_helper(); }

 private:
  Result<RetentionSet> retain(const Command& command, Overlay& overlay, SandboxRequest& request);
  Result<CommandResult> run_in(const RelPath& directory, const Command& command, Overlay& overlay,
                               const SandboxRequest& request, ExitingProcess& helper);

  Parts parts_;
  LayerCache layers_;
  RunPool pool_;
};

}  // namespace galley
