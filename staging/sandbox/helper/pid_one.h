#pragma once

#include "staging/sandbox/helper/layer_trees.h"
#include "staging/sandbox/helper/request.h"

namespace galley {

/// Gives this process the user, the restrictions and the descriptors of the command, and executes
/// the command. On failure it writes the reason to `notes` and exits.
[[noreturn]] void become_command(const SandboxRequest& request, int notes);

/// Brings up the loopback device of this process's network namespace.
void bring_loopback_up();

/// Starts the command, reaps processes, watches the limits, reports, and exits when the command has
/// ended; the kernel then kills the remaining processes. It also exits when `lifeline` breaks: the
/// monitor has died. `gauge` watches the command's layers.
[[noreturn]] void live_as_pid_one(const SandboxRequest& request, LayerGauge gauge, int notes,
                                  int lifeline);

}  // namespace galley
