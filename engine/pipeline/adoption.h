#pragma once

#include <galley/workspace.h>

#include <string>
#include <vector>

#include "base/result.h"

/// Taking over state that this workspace did not make, after a person said yes: a whole `.galley`,
/// or files in one that are not bound to the workspace.
namespace galley {

/// Everything that a person agrees to. The texts are not escaped.
struct AdoptionPlan {
  std::string doubt;                 ///< why it is not believed
  std::vector<std::string> effects;  ///< one sentence for each action of recovery and adoption
  bool operator==(const AdoptionPlan&) const = default;
};

/// Reads only.
/// Errors: kRefused `state.not_adoptable` (of another user, on another mount, tracked by git, of a
///         newer Galley), `journal.forbidden`; kNotFound `state.nothing_to_adopt`.
Result<AdoptionPlan> plan_adoption(const Workspace& workspace);

/// Carries out the plan: removes approvals, caches and kept folders, and binds the rest to this
/// workspace.
/// Errors: as plan_adoption's; kConflict `state.changed` when the plan would be another one now.
Result<void> adopt_state(Workspace& workspace, const AdoptionPlan& shown);

/// Whether git tracks files below `.galley`: a checkout could change them behind our back.
/// Errors: those of staging/git, when git cannot be asked.
Result<bool> is_state_tracked(const Workspace& workspace);

}  // namespace galley
