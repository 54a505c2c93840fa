#pragma once

#include "base/result.h"
#include "staging/fs/directory.h"
#include "staging/sandbox/command_runner.h"
#include "staging/sandbox/helper_process.h"
#include "staging/sandbox/sandbox.h"

namespace galley {

/// Whether commands can be run in a workspace at this path. A caller that stores a transaction for
/// a command asks first: a `.galley` in `/tmp` would make it the workspace of all folders below it.
/// Errors: kRefused `sandbox.unavailable`.
[[nodiscard]] Result<void> check_workspace_place(const std::string& workspace);

/// Returns the helper's request for a command, complete except for its layers.
/// Errors: kInvalid `sandbox.bad_command`; kNotFound `sandbox.program_not_found`; kRefused
///         `sandbox.unavailable` for a workspace that cannot be shown at its own path.
[[nodiscard]] Result<SandboxRequest> build_request(const SandboxOptions& options,
                                                   const Command& command,
                                                   const Directory& workspace);

/// Returns how a run ended; the caller sets `wall` and the effects.
/// Errors: kRefused `sandbox.unavailable` with the wall that could not be made and the remedy;
///         kNotFound `sandbox.program_not_found`, kRefused `sandbox.program_not_runnable`.
[[nodiscard]] Result<CommandResult> result_of(const SandboxRequest& request, const Command& command,
                                              HelperRun run);

}  // namespace galley
