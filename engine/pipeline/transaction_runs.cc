// Programs that go on running on the view of a stored transaction.
#include <galley/transaction.h>

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "engine/calls/tool_names.h"
#include "engine/pipeline/runs.h"
#include "engine/pipeline/transaction_state.h"
#include "engine/stages/scratch_home.h"
#include "staging/sandbox/host_folders.h"

namespace galley {
namespace {

constexpr size_t kMaxNamedEffects = 5;

nlohmann::ordered_json run_input(const RunRequest& request) {
  nlohmann::ordered_json input = {{"argv", request.command.argv},
                                  {"terminal", request.is_terminal},
                                  {"network", request.command.network == NetworkAccess::kHost}};
  if (!request.name.empty()) input["name"] = request.name;
  if (!request.writable.empty()) input["allow_write"] = request.writable;
  return input;
}

nlohmann::ordered_json run_output(const RunReport& report) {
  return {{"ended", report.ended.empty() ? "cut off" : report.ended},
          {"staged_paths", report.staged_paths},
          {"ignored_paths", report.ignored_paths},
          {"protected_paths", report.protected_paths}};
}

/// Nothing of a run is dropped because one of its files is none: its layer stays until it is mended.
Error cannot_stage(const std::string& tx, const AbsorbReport& report) {
  std::string message = "what the run " + tx + " left cannot be staged:";
  for (size_t i = 0; i < report.refused.size() && i < kMaxNamedEffects; ++i) {
    message += fmt::format("\n  {} {}", report.refused[i].path, report.refused[i].why);
  }
  if (report.refused.size() > kMaxNamedEffects) {
    message += fmt::format("\n  and {} more", report.refused.size() - kMaxNamedEffects);
  }
  message += "\nit is kept; mend it with: galley run --resume " + tx +
             " -- sh, or drop all of it with: galley rollback --tx " + tx;
  return {ErrorKind::kRefused, "run.cannot_stage", message, "", 0};
}

}  // namespace

Result<std::unique_ptr<StartedRun>> Transaction::start_run(const RunRequest& request) {
  if (!state_->stage) {
    return fail(ErrorKind::kUsage, "run.in_memory", "only a stored transaction can have a run");
  }
  if (!request.name.empty()) GALLEY_TRY(check_run_name(request.name));
  Action action;
  action.record.kind = AuditKind::kRun;
  action.record.tool = "run";
  action.record.input = json_document(run_input(request));
  action.tools = tools_that(ToolDeed::kRun);
  action.capabilities = {"exec"};
  action.runs_program = action.is_atomic = action.records_itself = true;
  if (!request.command.argv.empty()) action.intent.programs = {request.command.argv.front()};
  std::unique_ptr<StartedRun> started;
  const auto passed = pass(std::move(action), [&](AuditEvent& event) -> Result<void> {
    auto made = start_on_record(request, event.execution_id);
    if (made) {
      started = *std::move(made);
      return {};
    }
    AuditEvent failed = event;
    failed.error = tool_error_from(made.error());
    GALLEY_TRY(state_->recorder.record(std::move(failed)));
    return fail(made.error());
  });
  GALLEY_TRY(passed);
  return started;
}

Result<std::unique_ptr<StartedRun>> Transaction::start_on_record(const RunRequest& request,
                                                                 const std::string& execution) {
  WorkspaceState& workspace = *state_->workspace;
  GALLEY_ASSIGN(RunFolder folder, RunFolder::hold(*workspace.state_directory, id()));
  RunNote note;
  note.tx = id();
  note.name = request.name;
  note.argv = request.command.argv;
  note.agent = state_->options.agent;
  note.execution = execution;
  note.supervisor = ProcessIdentity::own();
  note.since_ns = workspace.clock().wall_ns();
  note.is_terminal = request.is_terminal;
  note.shares_network = request.command.network == NetworkAccess::kHost;
  note.writable = request.writable;
  GALLEY_ASSIGN(note.lower_home, need_scratch_home(state_->stage->directory()));
  LiveOptions options;
  options.homes = {workspace.root_path + "/.galley/runs/" + id(), note.lower_home};
  options.is_terminal = request.is_terminal;
  options.rows = request.rows;
  options.columns = request.columns;
  options.home = home_folder();
  options.writable = request.writable;
  Command command = request.command;
  for (auto& [name, value] : session_environment(request.is_terminal, options.home)) {
    command.environment.try_emplace(name, value);
  }
  auto live = state_->runner()->start(command, options, state_->overlay);
  if (!live) {
    (void)RunFolder::remove(*workspace.state_directory, std::move(folder));
    return fail(live.error());
  }
  note.mount_fd = (*live)->mount();
  note.began_ns = (*live)->began_ns();
  GALLEY_TRY(folder.write_note(note));
  return std::make_unique<StartedRun>(
      StartedRun{std::move(folder), std::move(note), *std::move(live)});
}

/// Stages what a run left that nobody supervises any more; a live one is left alone.
Result<void> Transaction::take_up_run() {
  const StateDirectory& place = *state_->workspace->state_directory;
  auto folder = RunFolder::open(place, id());
  if (!folder && folder.error().kind == ErrorKind::kNotFound) return {};
  if (!folder) return fail(folder.error());
  GALLEY_ASSIGN(const bool is_ours, folder->take_lock());
  if (!is_ours) return {};
  const auto note = folder->note();
  if (!note && note.error().kind == ErrorKind::kNotFound) return {};  // it never began
  if (!note) return fail(note.error());
  WorkspaceState& workspace = *state_->workspace;
  RunReport report;
  report.ended = note->ended;
  Action action;
  action.record.kind = AuditKind::kRun;
  action.record.tool = "run";
  action.record.execution_id = note->execution;
  const auto passed = pass(std::move(action), [&](AuditEvent& event) -> Result<void> {
    AbsorbRules rules;
    rules.is_ignored = git_ignore_rule(workspace.root_path, workspace.clock());
    rules.propose_ignored = workspace.config.sandbox.propose_ignored;
    rules.began_ns = note->began_ns;
    const LiveHomes homes{workspace.root_path + "/.galley/runs/" + id(), note->lower_home};
    GALLEY_ASSIGN(const AbsorbReport absorbed,
                  absorb_live_layer(homes, state_->overlay, std::move(rules)));
    if (!absorbed.refused.empty()) return fail(cannot_stage(id(), absorbed));
    report.staged_paths = absorbed.staged;
    report.ignored_paths = absorbed.ignored;
    report.protected_paths = absorbed.protected_paths;
    event.output = json_document(run_output(report));
    return {};
  });
  if (!passed && passed.error().reason == "run.cannot_stage") {
    state_->unstaged_run = passed.error();
    return {};
  }
  GALLEY_TRY(passed);
  GALLEY_TRY(save());
  state_->run_report = std::make_shared<const RunReport>(std::move(report));
  return RunFolder::remove(place, *std::move(folder));
}

const RunReport* Transaction::ended_run() const { return state_->run_report.get(); }

const Error* Transaction::unstaged_run() const {
  return state_->unstaged_run ? &*state_->unstaged_run : nullptr;
}

}  // namespace galley
