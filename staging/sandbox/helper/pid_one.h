#pragma once

#include "staging/sandbox/helper/layer_gauge.h"
#include "staging/sandbox/helper/setup.h"

namespace galley {

/// What pid 1 and the command's own process tell the monitor, each in one write to a pipe.
struct Note {
  HelperReport report;
};

/// Gives a process the command's identity, walls and descriptors and executes it. Returns only on
/// failure, after writing the reason to `notes`.
[[noreturn]] void become_command(const SandboxRequest& request, int notes);

/// Starts the loopback device of a network namespace of our own.
void bring_loopback_up();

/// The life of pid 1 in the namespaces: starts the command, reaps, watches the limits, and ends
/// with the command; the kernel then kills whatever is left. Also ends when `lifeline` breaks,
/// which is when the monitor dies. `gauge` watches the command's layers.
[[noreturn]] void live_as_pid_one(const SandboxRequest& request, LayerGauge gauge, int notes,
                                  int lifeline);

}  // namespace galley
