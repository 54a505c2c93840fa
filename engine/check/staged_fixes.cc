#include "engine/check/staged_fixes.h"

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "engine/audit/recorder.h"
#include "engine/calls/early_policy.h"
#include "engine/calls/executor.h"
#include "engine/calls/tool_names.h"
#include "engine/commit/state_directory.h"
#include "staging/fs/disk_directory.h"
#include "staging/sandbox/command_runner.h"

namespace galley {
namespace {

using nlohmann::ordered_json;

JsonDocument document_of(ordered_json json) {
  return std::make_shared<const ordered_json>(std::move(json));
}

ordered_json names_of(const std::vector<RelPath>& paths) {
  ordered_json names = ordered_json::array();
  for (const RelPath& path : paths) names.push_back(path.str());
  return names;
}

/// A step that runs programs outside the overlay: it is recorded before they start.
Action action_of(AuditKind kind, std::string tool, const Proposal& proposal) {
  Action action;
  action.record.kind = kind;
  action.record.tool = std::move(tool);
  action.record.proposal = proposal.id().hex();
  action.record.capabilities_used = action.capabilities = {"fs:write"};
  action.tools = tools_with_effect(ToolEffect::kEdit);
  action.runs_program = true;
  action.is_atomic = true;
  return action;
}

ExecutorOptions options_for(const StagedFixRequest& request, Overlay& overlay) {
  ExecutorOptions options;
  options.root = request.layout.work_tree;
  options.agent = request.who.agent;
  options.owner = request.who.owner;
  options.reason = request.who.message;
  options.policy.emplace(request.config, request.who.principals(), &overlay);
  options.capabilities = options.policy->capabilities();
  return options;
}

Result<FixReport> run_fixers(const StagedFixRequest& request, Executor& executor,
                             Overlay& overlay) {
  std::optional<FixReport> report;
  const auto passed = executor.perform(
      &overlay, action_of(AuditKind::kFix, "fix", request.proposal),
      [&](AuditEvent& event) -> Result<void> {
        GALLEY_ASSIGN(
            report,
            fix_staged(request.config, overlay,
                       {request.runner, request.clock, request.who.principals(), Deadline(), {}}));
        event.output = document_of(
            {{"runs", report->runs.size()}, {"changed", report->change.changes().size()}});
        return {};
      });
  GALLEY_TRY(passed);
  return *std::move(report);
}

Result<IndexFix> write_index(const StagedFixRequest& request, Executor& executor,
                             const Proposal& change, const FixPlaces& places) {
  Action action = action_of(AuditKind::kIndex, "check", change);
  std::vector<RelPath> paths;
  for (const Change& one : change.changes()) paths.push_back(one.path);
  action.record.input = document_of({{"paths", names_of(paths)}});
  action.intent.writes = std::move(paths);
  IndexFix put;
  const auto passed =
      executor.perform(nullptr, std::move(action), [&](AuditEvent& event) -> Result<void> {
        GALLEY_ASSIGN(put, put_into_index(request.git, request.layout, change, places));
        event.output =
            document_of({{"staged", names_of(put.staged)}, {"followed", names_of(put.followed)}});
        return {};
      });
  if (!passed && put.staged.empty()) return fail(passed.error());
  if (!passed) put.warnings.push_back("the fix is not recorded: " + passed.error().message);
  return put;
}

}  // namespace

Result<StagedFixes> fix_what_is_staged(const StagedFixRequest& request) {
  if (request.layout.work_tree.empty()) {
    return fail(ErrorKind::kUsage, "check.no_worktree",
                "this repository is bare and has no work tree, so nothing is fixed in its index");
  }
  if (request.proposal.is_empty()) return StagedFixes{{{}, request.proposal}, {}};
  GALLEY_ASSIGN(const auto work_tree, open_writable_disk_directory(request.layout.work_tree));
  GALLEY_ASSIGN(const StateDirectory state, StateDirectory::open_or_create(*work_tree));
  const auto log = std::make_unique<AuditLog>(state, request.clock);
  Recorder recorder(log, request.clock, RecordTime::kAtOnce, {}, request.config.other_file);
  Overlay overlay = overlay_of(request.proposal, request.base, request.clock);
  Executor executor(nullptr, recorder, request.clock, options_for(request, overlay));
  GALLEY_ASSIGN(FixReport report, run_fixers(request, executor, overlay));
  if (report.change.is_empty()) return StagedFixes{std::move(report), {}};
  GALLEY_ASSIGN(IndexFix put,
                write_index(request, executor, report.change, {*work_tree, state, request.clock}));
  return StagedFixes{std::move(report), std::move(put)};
}

}  // namespace galley
