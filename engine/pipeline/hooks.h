#pragma once

#include <functional>
#include <string>
#include <vector>

namespace galley {

struct WorkspaceState;

/// The two commands around the apply step of a commit, such as one that pauses a watcher.
struct ApplyHooks {
  std::function<void()> before;  ///< empty when there is no hook
  std::function<void()> after;
};

/// Makes the hooks of a commit. Those of a trusted galley.toml run in the sandbox, and their
/// effects are dropped. Those of the person's own configuration run on the host, in `/`, with
/// GALLEY_WORKSPACE set. They are refused if they name a file inside the workspace, because anybody
/// who edits there could change it.
///
/// A hook cannot change the outcome of a commit. Its failure is added to `failures`.
/// Ownership: borrows both arguments.
[[nodiscard]] ApplyHooks apply_hooks(WorkspaceState& workspace, std::vector<std::string>& failures);

}  // namespace galley
