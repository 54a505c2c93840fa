#pragma once

#include <cstddef>
#include <variant>
#include <vector>

#include "base/result.h"
#include "engine/history/rebase.h"
#include "staging/overlay/staged_step.h"

namespace galley {

/// The staged state without some of the steps that made it.
struct StepRollback {
  std::vector<size_t> taken;       ///< indexes of the steps that were undone, newest first
  Overlay::Entries entries;        ///< for Overlay::restore()
  std::vector<MergedPath> merged;  ///< paths that later steps had changed too
  bool changes_nothing = false;    ///< the effect of the steps is already gone
};

/// The step cannot be undone: the paths that do not fit, and the later steps that prevent it.
struct StepConflict {
  std::vector<size_t> dependent_steps;  ///< indexes, oldest first; empty: something else changed it
  std::vector<PathConflict> paths;
};

using StepRollbackOutcome = std::variant<StepRollback, StepConflict>;

/// Plans the rollback of one step of a transaction. The reverse of its changes is merged into the
/// staged state, path by path and then by lines. A later step that changed other lines stays. A
/// later step has built upon this one if it changed the same lines, or needs a path that this step
/// made. `with_later` also undoes those steps and the ones that have built upon them.
///
/// The store of `staged` must have every content that a step names. The plan only shares these
/// contents. An Error means that a read failed.
Result<StepRollbackOutcome> plan_step_rollback(Overlay& staged,
                                               const std::vector<StagedStep>& steps, size_t wanted,
                                               bool with_later);

}  // namespace galley
