#include "engine/history/step_rollback.h"

#include <set>
#include <utility>

namespace galley {
namespace {

Proposal reversed_step(const StagedStep& step, const Overlay& staged) {
  ChangeSet changes = step.changes;
  for (Change& change : changes) std::swap(change.before, change.after);
  return Proposal::from(std::move(changes), staged.store());
}

/// Later steps that changed one of these paths and are not undone themselves.
std::vector<size_t> steps_in_the_way(const std::vector<StagedStep>& steps, size_t step,
                                     const std::set<size_t>& taken,
                                     const std::vector<PathConflict>& paths) {
  std::vector<size_t> found;
  for (size_t later = step + 1; later < steps.size(); ++later) {
    if (taken.contains(later)) continue;
    for (const PathConflict& path : paths) {
      if (!steps[later].concerns(path.path)) continue;
      found.push_back(later);
      break;
    }
  }
  return found;
}

/// One attempt: undoes these steps, newest first, or reports which step did not fit.
struct RollbackTry {
  StepRollback done;
  size_t misfit = 0;
  std::vector<PathConflict> paths;  ///< empty: all of them fit
};

Result<RollbackTry> try_rollback(Overlay& staged, const std::vector<StagedStep>& steps,
                                 const std::set<size_t>& taken) {
  Overlay view(staged.workspace(), staged.store(), staged.clock());
  view.share(staged);
  RollbackTry result;
  result.done.changes_nothing = true;
  for (auto step = taken.rbegin(); step != taken.rend(); ++step) {
    RebaseOptions options;
    options.found_label = "staged";
    options.base_label = "after " + steps[*step].execution_id;
    options.wanted_label = "before " + steps[*step].execution_id;
    GALLEY_ASSIGN(RebaseOutcome outcome, rebase(reversed_step(steps[*step], view), view, options));
    if (auto* conflict = std::get_if<RebaseConflict>(&outcome)) {
      result.misfit = *step;
      result.paths = std::move(conflict->paths);
      return result;
    }
    auto& rebased = std::get<Rebased>(outcome);
    if (!rebased.proposal.is_empty()) result.done.changes_nothing = false;
    GALLEY_TRY(stage_rebased(rebased.proposal, view));
    result.done.taken.push_back(*step);
    for (MergedPath& path : rebased.merged) result.done.merged.push_back(std::move(path));
  }
  result.done.entries = view.entries();
  return result;
}

}  // namespace

Result<StepRollbackOutcome> plan_step_rollback(Overlay& staged,
                                               const std::vector<StagedStep>& steps, size_t wanted,
                                               bool with_later) {
  std::set<size_t> taken = {wanted};
  while (true) {
    GALLEY_ASSIGN(RollbackTry attempt, try_rollback(staged, steps, taken));
    if (attempt.paths.empty()) return StepRollbackOutcome(std::move(attempt.done));
    std::vector<size_t> later = steps_in_the_way(steps, attempt.misfit, taken, attempt.paths);
    if (later.empty() || !with_later) {
      return StepRollbackOutcome(StepConflict{std::move(later), std::move(attempt.paths)});
    }
    taken.insert(later.begin(), later.end());  // adds at least one, so this ends
  }
}

}  // namespace galley
