#pragma once

#include <galley/workspace.h>

#include <string>
#include <vector>

#include "base/result.h"

/// Adopts state that this workspace did not create, after a person agreed: a whole `.galley`, or
/// single files in it that are not bound to the workspace.
namespace galley {

/// The consequences of an adoption, to which a person agrees. Texts are not escaped.
struct AdoptionPlan {
  std::string doubt;                 ///< why the state is not trusted
  std::vector<std::string> effects;  ///< one sentence for each action of recovery and adoption
  bool operator==(const AdoptionPlan&) const = default;
};

/// Returns the plan of an adoption. Writes nothing.
/// Errors: kRefused `state.not_adoptable` (it belongs to another user, is on another mount, is
///         tracked by git, or is from a newer Galley), `journal.forbidden`; kNotFound
///         `state.nothing_to_adopt`.
Result<AdoptionPlan> plan_adoption(const Workspace& workspace);

/// Carries out the plan: removes approvals, confirmations, grants, caches and kept folders, and
/// binds the rest to this workspace.
/// Errors: as plan_adoption; kConflict `state.changed` if the plan has changed since it was shown.
Result<void> adopt_state(Workspace& workspace, const AdoptionPlan& shown);

/// Whether git tracks files below `.galley`. A checkout could change such files.
/// Errors: those of staging/git, if git cannot be asked.
Result<bool> is_state_tracked(const Workspace& workspace);

}  // namespace galley
