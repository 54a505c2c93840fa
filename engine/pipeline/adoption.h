#pragma once

#include <galley/workspace.h>

#include <string>
#include <vector>

#include "base/result.h"

/// Taking over a `.galley` that is not believed, or what is not bound in one that is, on a person's
/// word.
namespace galley {

/// What a person says yes to; the texts are not escaped.
struct AdoptionPlan {
  std::string doubt;  ///< why it is not believed
  std::vector<std::string>
      effects;  ///< one sentence each: what recovery would do, what would count
  bool operator==(const AdoptionPlan&) const = default;
};

/// Looks and changes nothing of the tree.
/// Errors: kRefused `state.not_adoptable` (of another user, on another mount, tracked by git, of a
///         newer Galley), `journal.forbidden`; kNotFound `state.nothing_to_adopt`.
Result<AdoptionPlan> plan_adoption(const Workspace& workspace);

/// Does exactly that: approvals, caches and kept folders go, and the rest is the workspace's own
/// from now on.
/// Errors: as plan_adoption's; kConflict `state.changed` when it is no longer what was shown.
Result<void> adopt_state(Workspace& workspace, const AdoptionPlan& shown);

/// Whether git tracks files below `.galley`: a checkout could change them behind our back.
/// Errors: those of staging/git, when git cannot be asked.
Result<bool> is_state_tracked(const Workspace& workspace);

}  // namespace galley
