#pragma once

#include "staging/sandbox/helper/layer_trees.h"
#include "staging/sandbox/helper/request.h"

namespace galley {

/// Gives this process the command's identity, walls and descriptors and executes the command. On
/// failure writes the reason to `notes` and exits.
[[noreturn]] void become_command(const SandboxRequest& request, int notes);

/// Brings the loopback device of our own network namespace up.
void bring_loopback_up();

/// Starts the command, reaps, watches the limits, reports, and exits when the command has ended;
/// the kernel then kills what is left. Exits too when `lifeline` breaks: the monitor has died.
/// `gauge` watches the command's layers.
[[noreturn]] void live_as_pid_one(const SandboxRequest& request, LayerGauge gauge, int notes,
                                  int lifeline);

}  // namespace galley
