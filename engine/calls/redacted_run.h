#pragma once

#include "base/result.h"
#include "staging/overlay/overlay.h"
#include "staging/sandbox/command_runner.h"

namespace galley {

/// Runs a command for an agent: what looks like a key or token is taken out of its output, as it
/// comes and in the result. A person gets the exact bytes, from the runner itself.
/// Errors: the runner's.
[[nodiscard]] Result<CommandResult> run_redacted(CommandRunner& runner, const Command& command,
                                                 Overlay& overlay);

}  // namespace galley
