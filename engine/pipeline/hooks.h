#pragma once

#include <functional>
#include <string>
#include <vector>

namespace galley {

struct WorkspaceState;

/// The two commands before and after the apply step of a commit, for example to pause a watcher.
struct ApplyHooks {
  std::function<void()> before;  ///< empty without a hook
  std::function<void()> after;
};

/// Makes the hooks of a commit. Hooks of a trusted galley.toml run in the sandbox, and their
/// effects are dropped. Hooks of the person's own configuration run on the host, in `/`, with
/// GALLEY_WORKSPACE set. They must not name a file inside the workspace, because any agent could
/// change that file.
///
/// A hook cannot change the outcome of a commit. Its failure is added to `failures`.
///
/// Ownership: borrows both arguments.
[[nodiscard]] ApplyHooks apply_hooks(WorkspaceState& workspace, std::vector<std::string>& failures);

}  // namespace galley
