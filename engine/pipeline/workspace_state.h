#pragma once

#include <memory>
#include <string>
#include <vector>

#include <galley/workspace.h>
#include "engine/pipeline/persistent_state.h"
#include "engine/pipeline/place.h"
#include "engine/pipeline/rules.h"
#include "engine/pipeline/toolbox.h"

namespace galley {

using StageStatus = Workspace::Stage;

/// The parts of an open workspace (docs/ARCHITECTURE.md).
struct WorkspaceState {
  WorkspaceState(Place found, UserSettings user, std::unique_ptr<WritableDirectory> files,
                 WorkspaceOptions options);

  Place place;
  Rules rules;
  PersistentState persistent;
  Toolbox tools;
  WorkspaceOptions options;  ///< without the members that Toolbox took
  std::vector<std::string> notices;

  /// Adds the restrictions of the workspace to the options of a transaction.
  [[nodiscard]] TransactionOptions bounded(TransactionOptions asked) const {
    asked.reads_only |= options.reads_only;
    asked.is_deterministic |= options.is_deterministic;
    return asked;
  }
};

/// Access to the parts of a workspace for Galley's own rooms. The parts live as long as the
/// workspace.
struct WorkspaceAccess {
  [[nodiscard]] static WorkspaceState& of(const Workspace& workspace) { return *workspace.state_; }
};
[[nodiscard]] inline const Place& place_of(const Workspace& workspace) {
  return WorkspaceAccess::of(workspace).place;
}
[[nodiscard]] inline const Rules& rules_of(const Workspace& workspace) {
  return WorkspaceAccess::of(workspace).rules;
}
[[nodiscard]] inline PersistentState& persistent_of(const Workspace& workspace) {
  return WorkspaceAccess::of(workspace).persistent;
}
[[nodiscard]] inline Toolbox& tools_of(const Workspace& workspace) {
  return WorkspaceAccess::of(workspace).tools;
}

}  // namespace galley
