#pragma once

#include "base/result.h"
#include "staging/fs/directory.h"
#include "staging/sandbox/command_runner.h"
#include "staging/sandbox/helper_process.h"
#include "staging/sandbox/sandbox.h"

namespace galley {

/// What the helper is asked to do for a command, but for its layers.
/// Errors: kInvalid `sandbox.bad_command`; kNotFound `sandbox.program_not_found`; kRefused
///         `sandbox.unavailable` for a workspace that cannot be shown at its own path.
[[nodiscard]] Result<SandboxRequest> build_request(const SandboxOptions& options,
                                                   const Command& command,
                                                   const Directory& workspace);

/// How a run ended, in the words of the seam.
/// Errors: kRefused `sandbox.unavailable` with the wall that could not be put up and the remedy;
///         kNotFound `sandbox.program_not_found`, kRefused `sandbox.program_not_runnable`.
[[nodiscard]] Result<CommandResult> result_of(const SandboxRequest& request, HelperRun run);

}  // namespace galley
