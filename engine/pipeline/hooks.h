#pragma once

#include <functional>
#include <string>
#include <vector>

namespace galley {

struct WorkspaceState;

/// The two commands around the apply step of a commit, such as one that pauses a watcher.
struct ApplyHooks {
  std::function<void()> before;  ///< empty: none
  std::function<void()> after;
};

/// Hooks of galley.toml (trusted, else the configuration holds none) run in the sandbox and their
/// effects are dropped. Hooks of the person's own configuration run on the host, in `/`, with
/// GALLEY_WORKSPACE set, and only while nothing that they name lies inside the workspace: whoever
/// edits there could change it.
///
/// A hook cannot change the outcome of a commit: what goes wrong is added to `failures`.
/// Ownership: borrows both arguments.
[[nodiscard]] ApplyHooks apply_hooks(WorkspaceState& workspace, std::vector<std::string>& failures);

}  // namespace galley
