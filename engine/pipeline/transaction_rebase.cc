// Moves the staged changes to the present files, and resolves conflicts with them.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "engine/calls/action.h"
#include "engine/calls/early_policy.h"
#include "engine/calls/tool_names.h"
#include "engine/history/rebase.h"
#include "engine/pipeline/inner_transaction.h"
#include "engine/pipeline/transaction_state.h"
#include "engine/policy/policy.h"
#include "engine/stages/kept_outputs.h"

namespace galley {
namespace {

/// Fails for a path of a resolution that had no conflict.
Result<void> check_all_used(const std::map<RelPath, Resolution>& resolutions,
                            const PartialRebase& plan) {
  for (const auto& [path, resolution] : resolutions) {
    const bool is_used = std::any_of(
        plan.fits.merged.begin(), plan.fits.merged.end(), [&path = path](const MergedPath& merged) {
          return merged.path == path && merged.how.starts_with("resolved");
        });
    if (is_used) continue;
    // Another conflict may have held the change back.
    const bool is_left = std::find(plan.left.begin(), plan.left.end(), path) != plan.left.end();
    return fail(ErrorKind::kUsage, "resolve.no_conflict",
                "'" + path.str() +
                    (is_left ? "' cannot be resolved before the conflicts that it depends on"
                             : "' is not in conflict with the disk"),
                path.str());
  }
  return {};
}

/// Whether a file is on disk with other content than when it was read.
bool has_other_content(const RelPath& path, const Node& read, const Place& place) {
  if (read.kind != FileKind::kRegular) return false;
  const auto now = read_from_disk(place.files(), path, place.clock().wall_ns());
  return now && now->id != read.content;
}

nlohmann::ordered_json rebase_on_record(const Proposal& proposal,
                                        const std::map<RelPath, Resolution>& resolutions) {
  nlohmann::ordered_json input = {{"proposal", proposal.id().hex()}};
  for (const auto& [path, resolution] : resolutions) input["resolved"].push_back(path.str());
  return input;
}

}  // namespace

Result<PartialRebase> InnerTransaction::plan_rebase(
    const std::map<RelPath, Resolution>& resolutions) {
  const WorkspaceState& workspace = *state_->workspace;
  RebaseOptions options;
  options.resolutions = resolutions;
  GALLEY_ASSIGN(PartialRebase plan, rebase_what_fits(outer_->proposal(), workspace.place.files(),
                                                     workspace.place.clock(), options));
  const ExecutorOptions rules = outer_->executor_options({});
  const auto may_read = rules.policy->reading_rule();
  for (PathConflict& conflict : plan.conflicts) {
    if (!may_read || may_read(conflict.path)) continue;
    conflict.diff.clear();
    conflict.hunks.clear();
  }
  return plan;
}

Result<std::vector<PathConflict>> InnerTransaction::conflicts() {
  return plan_rebase({}).map([](PartialRebase&& plan) { return std::move(plan.conflicts); });
}

Result<InnerTransaction::StagedRebase> InnerTransaction::rebase_staged(
    const std::map<RelPath, Resolution>& resolutions) {
  StagedRebase done;
  Action action;
  action.record.kind = AuditKind::kEdit;
  action.record.tool = "rebase";
  action.record.input = json_document(rebase_on_record(outer_->proposal(), resolutions));
  action.tools = tools_with_effect(ToolEffect::kEdit);
  action.merges = true;
  const auto passed = outer_->pass(std::move(action), [&](AuditEvent& event) -> Result<void> {
    GALLEY_ASSIGN(PartialRebase plan, plan_rebase(resolutions));
    GALLEY_TRY(check_all_used(resolutions, plan));
    for (const Change& change : plan.fits.proposal.changes()) {
      GALLEY_TRY(check_file_size(state_->workspace->rules.config.limits, change.path, change.before,
                                 change.after));
    }
    const std::set<RelPath> left(plan.left.begin(), plan.left.end());
    // With serializable isolation the commit checks what was read, so the rebase keeps it.
    const bool keeps_reads = state_->overlay.tracks_reads();
    Overlay::Entries kept;
    for (const auto& [path, entry] : state_->overlay.entries()) {
      const bool is_read = keeps_reads && entry.before == entry.now;
      if (!is_read && !left.contains(path)) continue;
      Overlay::Entry& keeping = *kept.try_emplace(path, entry).first;
      if (!is_read || !has_other_content(path, entry.before, state_->workspace->place)) continue;
      keeping.base = kReadAgainStamp;
    }
    state_->overlay.restore(std::move(kept));
    GALLEY_TRY(stage_proposal(plan.fits.proposal, state_->overlay));
    event.output =
        json_document({{"merged", plan.fits.merged.size()}, {"conflicts", plan.conflicts.size()}});
    done = {std::move(plan.fits.merged), std::move(plan.conflicts)};
    return {};
  });
  GALLEY_TRY(passed);
  GALLEY_TRY(outer_->save());
  return done;
}

// --- what an agent is told beside the answer of its call ----------------------------------------

std::vector<std::string> InnerTransaction::questions_about(
    const std::vector<std::string>& paths) const {
  std::vector<std::string> questions;
  const Policy policy(state_->workspace->rules.config);
  const Overlay::Entries& entries = state_->overlay.entries();
  for (const std::string& name : paths) {
    if (questions.size() == kMaxAnnounced) break;
    const auto path = RelPath::parse(name);
    const auto entry = path ? entries.find(*path) : entries.end();
    if (entry == entries.end() || entry->second.before == entry->second.now) continue;
    const Judgement judgement =
        policy.judge_path(*path, staged_operation(entry->second), state_->options.principals());
    if (judgement.decision == Decision::kAsk) questions.push_back(judgement.message);
  }
  return questions;
}

Result<void> InnerTransaction::keep_output(const OutputName& name, std::string_view text) {
  GALLEY_ASSIGN(const WritableDirectory* stage, outer_->stage_directory());
  return galley::keep_output(*stage, name, state_->options.agent, text);
}

Result<std::string> InnerTransaction::kept_output(const OutputName& name) const {
  GALLEY_ASSIGN(const WritableDirectory* stage, outer_->stage_directory());
  return galley::kept_output(*stage, name, state_->options.agent);
}

}  // namespace galley
