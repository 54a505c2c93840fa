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

}  // namespace galley
