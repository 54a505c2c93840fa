#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "staging/sandbox/command_runner.h"
#include "staging/sandbox/sandbox.h"

namespace galley {

/// The features of this machine, for `galley doctor`.
struct SandboxProbe {
  struct Item {
    std::string name;  ///< `user namespaces`, `overlayfs`, …
    bool present = false;
    std::string detail;  ///< a version, or what is missing and the remedy
  };
  std::vector<Item> items;
  SandboxLevel level = SandboxLevel::kNone;  ///< the best that works here; kNone: commands fail
  std::string summary;                       ///< one sentence
};

/// Tests each part of the sandbox and then all of them, by running `true`. Writes only below
/// $TMPDIR.
[[nodiscard]] SandboxProbe probe_sandbox(const SandboxOptions& options, const Clock& clock);

/// Whether this process runs inside Galley's sandbox, where all its writes are staged.
///
/// The variable GALLEY_SANDBOX is only a hint for programs, because any process can set it. This
/// function checks that the helper is one of its ancestor processes, that new privileges are
/// forbidden and a seccomp filter is active in every process in between, and that the kernel
/// refuses to this process what the helper's filter refuses.
[[nodiscard]] bool is_inside_sandbox();

/// The same without the questions that a process inside can answer wrongly by filters of its own:
/// for what is refused inside.
[[nodiscard]] bool may_be_inside_sandbox();

}  // namespace galley
