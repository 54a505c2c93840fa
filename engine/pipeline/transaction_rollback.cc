// Rollback of one call by its execution id.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include <galley/transaction.h>
#include "base/text.h"
#include "engine/calls/action.h"
#include "engine/history/step_rollback.h"
#include "engine/pipeline/inner_transaction.h"
#include "engine/pipeline/transaction_state.h"
#include "engine/stages/savepoints.h"
#include "engine/stages/stored_stage.h"
#include "staging/overlay/staged_step.h"
#include "staging/overlay/view_times.h"

namespace galley {

namespace {

using nlohmann::ordered_json;

std::vector<std::string> ids_of(const std::vector<StagedStep>& steps,
                                const std::vector<size_t>& indexes) {
  std::vector<std::string> ids;
  for (const size_t index : indexes) ids.push_back(steps[index].execution_id);
  return ids;
}

tl::unexpected<Error> conflict_of(const std::string& execution,
                                  const std::vector<StagedStep>& steps,
                                  const StepConflict& conflict) {
  const std::string why = conflict.paths.front().message;
  const std::string path = conflict.paths.front().path.str();
  if (conflict.dependent_steps.empty()) {
    return fail(ErrorKind::kConflict, "rollback.conflict",
                "what " + execution + " changed cannot be taken out of what is staged: " + why,
                path);
  }
  return fail(ErrorKind::kConflict, "rollback.built_upon",
              "later calls built on " + execution + ": " +
                  join_some(ids_of(steps, conflict.dependent_steps), kNamedCalls) + " (" + why +
                  "); take them back, too, with --with-later, or one by one, the newest first",
              path);
}

tl::unexpected<Error> nothing_to_take_back(const std::string& execution, const std::string& why) {
  return fail(ErrorKind::kUsage, "rollback.nothing", execution + " " + why);
}

}  // namespace

Result<std::vector<std::string>> Transaction::rollback_execution(const std::string& execution,
                                                                 bool with_later,
                                                                 const CallOptions& options) {
  std::vector<std::string> taken;
  Action action = own_step(AuditKind::kRollback);
  action.record.input = json_document({{"execution", execution}, {"with_later", with_later}});
  action.is_trial = options.dry_run;
  const Effect effect = [&](AuditEvent& event) -> Result<void> {
    GALLEY_TRY(check_may_change_staged());
    GALLEY_ASSIGN(const std::vector<StagedStep> steps, state_->all_steps());
    const auto step = std::ranges::find(steps, execution, &StagedStep::execution_id);
    if (step == steps.end()) {
      return fail(ErrorKind::kNotFound, "rollback.unknown_execution",
                  "no call of this transaction that changed something has the id '" + execution +
                      "'; the records of .galley/audit.jsonl have the ids");
    }
    const auto index = static_cast<size_t>(step - steps.begin());
    GALLEY_ASSIGN(StepRollbackOutcome outcome,
                  plan_step_rollback(state_->overlay, steps, index, with_later));
    if (const auto* conflict = std::get_if<StepConflict>(&outcome)) {
      return conflict_of(execution, steps, *conflict);
    }
    auto& plan = std::get<StepRollback>(outcome);
    if (plan.changes_nothing) {
      return nothing_to_take_back(execution, "is taken back already: nothing of it is staged");
    }
    roll_back(state_->overlay, plan.entries);
    taken = ids_of(steps, plan.taken);
    event.executions = taken;
    ordered_json merged;
    for (const MergedPath& path : plan.merged) {
      merged.push_back({{"path", path.path.str()}, {"how", path.how}});
    }
    if (!merged.empty()) event.output = json_document({{"merged", std::move(merged)}});
    return {};
  };
  GALLEY_TRY(pass(std::move(action), effect, options));
  if (!options.dry_run) GALLEY_TRY(save());
  return taken;
}

Result<const WritableDirectory*> Transaction::stage_directory() const {
  if (state_->stage && !state_->is_over) return &state_->stage->directory();
  return fail(ErrorKind::kUsage, "transaction.not_stored",
              "only a transaction begun with `galley begin` has savepoints and forks");
}

Result<void> Transaction::savepoint(const std::string& name) {
  GALLEY_ASSIGN(const WritableDirectory* stage, stage_directory());
  Action action = own_step(AuditKind::kSavepoint);
  action.record.input = json_document({{"name", name}});
  return pass(std::move(action), [&](AuditEvent&) -> Result<void> {
    GALLEY_TRY(check_may_change_staged());
    return make_savepoint(*stage, name, state_->overlay.entries(),
                          state_->workspace->place.clock());
  });
}

Result<void> InnerTransaction::keep_comments(const std::vector<ReviewComment>& comments) {
  GALLEY_ASSIGN(const WritableDirectory* stage, outer_->stage_directory());
  Action action = outer_->own_step(AuditKind::kComment);
  ordered_json list = ordered_json::array();
  for (const ReviewComment& one : comments) list.push_back({{"on", one.on}, {"text", one.text}});
  action.record.tool = "review";
  action.record.input = json_document({{"comments", std::move(list)}});
  return outer_->pass(std::move(action), [&](AuditEvent&) -> Result<void> {
    return write_comments(*stage, comments);
  });
}

std::vector<ReviewComment> InnerTransaction::comments() const {
  const auto stage = outer_->stage_directory();
  return stage ? read_comments(**stage).value_or(std::vector<ReviewComment>())
               : std::vector<ReviewComment>();
}

Result<size_t> Transaction::changes_at(const std::string& savepoint) const {
  GALLEY_ASSIGN(const WritableDirectory* stage, stage_directory());
  GALLEY_ASSIGN(const Overlay::Entries entries, entries_at_savepoint(*stage, savepoint));
  return ShownPaths(entries).count();
}

Result<void> Transaction::rollback_to(const std::string& name) {
  GALLEY_ASSIGN(const WritableDirectory* stage, stage_directory());
  Action action = own_step(AuditKind::kRollback);
  action.record.input = json_document({{"to", name}});
  const auto passed = pass(std::move(action), [&](AuditEvent&) -> Result<void> {
    GALLEY_TRY(check_may_change_staged());
    GALLEY_ASSIGN(Overlay::Entries entries, entries_at_savepoint(*stage, name));
    roll_back(state_->overlay, entries);
    return {};
  });
  GALLEY_TRY(passed);
  GALLEY_TRY(save());
  return drop_savepoints_after(*stage, name);
}

}  // namespace galley
