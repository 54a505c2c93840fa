#pragma once

#include <cstddef>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "engine/history/rebase.h"
#include "staging/overlay/staged_step.h"

namespace galley {

/// What is staged without some of the steps that made it.
struct StepRollback {
  std::vector<size_t> taken;       ///< indexes of the steps that were taken back, newest first
  Overlay::Entries entries;        ///< for Overlay::restore()
  std::vector<MergedPath> merged;  ///< paths that later steps had changed, too
  bool changes_nothing = false;    ///< what the steps did is gone already
};

/// It cannot be taken back: what does not fit, and which later steps stand in the way.
struct StepConflict {
  std::vector<size_t> built_upon;  ///< indexes, oldest first; empty: something else changed it
  std::vector<PathConflict> paths;
};

using StepRollbackOutcome = std::variant<StepRollback, StepConflict>;

/// Plans taking back one of the steps of a transaction: the reverse of what it changed, merged into
/// what is staged now, path by path and then by lines. A later step that changed other lines stays;
/// one that changed the same lines, or works in what this step made, has built upon it.
/// `with_later` takes those back, too, and those that have built upon them.
///
/// Every content that a step names has to be in the store of `staged`, which only shares what it
/// holds. Errors mean that something could not be read.
Result<StepRollbackOutcome> plan_step_rollback(Overlay& staged,
                                               const std::vector<StagedStep>& steps, size_t wanted,
                                               bool with_later);

}  // namespace galley
