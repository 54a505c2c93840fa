// Programs that keep running on the view of a stored transaction.
#include <galley/transaction.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/file_mode.h"
#include "base/rel_path.h"
#include "engine/calls/tool_names.h"
#include "engine/commit/run_start.h"
#include "engine/pipeline/inner_transaction.h"
#include "engine/pipeline/transaction_state.h"
#include "engine/policy/readable_folders.h"
#include "engine/stages/run_basis.h"
#include "engine/stages/run_commits.h"
#include "engine/stages/stored_stage.h"
#include "staging/fs/disk_directory.h"
#include "staging/fs/replace_file.h"
#include "staging/fs/user_state.h"
#include "staging/git/git_files.h"
#include "staging/overlay/view_times.h"
#include "staging/sandbox/host_folders.h"
#include "staging/sandbox/layer_objects.h"
#include "staging/sandbox/resolve_program.h"

namespace galley {
namespace {

nlohmann::ordered_json run_input(const RunRequest& request) {
  nlohmann::ordered_json input = {{"argv", request.command.argv},
                                  {"terminal", request.is_terminal},
                                  {"network", request.command.network == NetworkAccess::kHost}};
  if (!request.name.empty()) input["name"] = request.name;
  // Record only the names of the environment: values may be secrets.
  for (const auto& [name, value] : request.command.environment) input["env"].push_back(name);
  if (!request.writable.empty()) input["allow_write"] = request.writable;
  if (!request.layered.empty()) input["layers"] = request.layered;
  if (!request.command.readable.empty()) input["readable"] = request.command.readable;
  if (request.has_consent) input["consent"] = true;
  if (!request.command.hosts.empty()) input["hosts"] = request.command.hosts;
  return input;
}

/// Returns the layers of earlier runs in the transaction, and those that this run asks for. `place`
/// is the path of the stage.
Result<std::vector<HostLayer>> host_layers(const WritableDirectory& stage,
                                           const RunRequest& request, const std::string& root,
                                           const std::string& place) {
  GALLEY_ASSIGN(const auto earlier, run_layers(stage));
  std::set<std::string> layered(request.layered.begin(), request.layered.end());
  for (const RunLayer& layer : earlier) {
    // A stored path is not trusted: --layer must allow it now, too.
    const auto now = folder_of_run("--layer", layer.path, root, layer.is_over_nothing);
    if (!now || *now != layer.path) {
      return fail(ErrorKind::kRefused, "run.host_folder",
                  "'" + layer.path + "', over which the transaction has a layer, cannot be used: " +
                      (now ? "it leads to '" + *now + "' now" : now.error().message) +
                      "; galley rollback drops the transaction");
    }
    layered.insert(layer.path);
  }
  for (const std::string& path : request.writable) {
    if (!layered.contains(path)) continue;
    return fail(ErrorKind::kUsage, "run.host_folder",
                "--allow-write cannot name '" + path +
                    "': what this transaction writes there is in a layer");
  }
  GALLEY_ASSIGN(const auto all, ensure_run_layers(stage, request.layered));
  std::vector<HostLayer> layers;
  for (const RunLayer& layer : all) {
    const std::string home = place + "/" + layer.home;
    layers.push_back({layer.path, home, layer.is_over_nothing ? home + "/below" : ""});
  }
  return layers;
}

/// Returns the folders in a writable one from which this machine runs programs later, so the run
/// must not write to them: those of PATH, and `bin` below a hidden folder of the home.
Result<std::vector<std::string>> program_folders_in(const std::string& place) {
  std::vector<std::string> folders = search_folders_in(place);
  GALLEY_ASSIGN(const auto directory, open_disk_directory(place));
  const std::string bin = place + "/bin";
  const std::string home = home_folder();
  const bool is_start_place = !objection_to_start_place(bin, home).empty() ||
                              !objection_to_start_place(bin, real_program_path(home)).empty();
  GALLEY_ASSIGN(const FileStat there, directory->stat(chosen_path("bin")));
  if (is_start_place && there.kind != FileKind::kAbsent) folders.push_back(bin);
  for (const std::string& folder : folders) {
    // What is further below, a link, or missing, could be replaced.
    const auto name = RelPath::parse(folder.substr(std::min(folder.size(), place.size() + 1)));
    const bool is_child = name && !name->is_root() && name->parent().is_root();
    const auto found = is_child ? directory->stat(*name) : Result<FileStat>(FileStat());
    if (found && found->kind == FileKind::kDirectory) continue;
    return fail(ErrorKind::kUsage, "run.host_folder",
                "--allow-write cannot name '" + place + "': this machine runs programs from '" +
                    folder + "' later, and not in the sandbox; name a folder without it, or use " +
                    "--layer");
  }
  return folders;
}

/// Adds a layer for the repository of a linked work tree or submodule, which is outside of the
/// workspace. Writes to it go to the run, as writes to a `.git` do.
Result<void> add_git_layer(const RunFolder& folder, const std::string& workspace,
                           LiveOptions& options) {
  const std::string common = GitFiles(workspace, effective_user()).repository_elsewhere();
  const auto is_named = [&](const HostLayer& layer) { return layer.path == common; };
  if (common.empty() || std::any_of(options.layers.begin(), options.layers.end(), is_named) ||
      std::find(options.writable.begin(), options.writable.end(), common) !=
          options.writable.end()) {
    return {};
  }
  GALLEY_TRY(make_directories(folder.directory(), chosen_path("git"), kPrivateDirectory));
  options.layers.push_back({common, options.homes.upper + "/git"});
  return {};
}

/// Notes what the run finds in the repository of the workspace, if that can be read.
Result<void> write_start_refs(const RunFolder& folder, const std::string& workspace) {
  const auto places = GitFiles(workspace, effective_user()).find();
  if (!places) return {};
  const auto own = open_disk_directory(places->own);
  const auto common = open_disk_directory(places->common);
  if (!own || !common) return {};
  return replace_file(folder.directory(), "refs", refs_at_start(**own, **common));
}

}  // namespace

Result<std::string> folder_of_run(std::string_view option, const std::string& path,
                                  const std::string& workspace, bool may_be_missing) {
  GALLEY_ASSIGN(std::string place, check_host_folder(option, path, workspace, may_be_missing));
  const std::string home = home_folder();
  for (const std::string& one : {home, real_program_path(home)}) {
    std::string no = objection_to_writable(place, one);
    if (no.empty() && option != "--layer") no = objection_to_start_place(place, one);
    if (no.empty()) continue;
    return fail(ErrorKind::kUsage, "run.host_folder",
                std::string(option) + " cannot name '" + path + "': " + no);
  }
  if (option != "--layer") GALLEY_TRY(program_folders_in(place));
  return place;
}

Result<std::unique_ptr<StartedRun>> InnerTransaction::start_run(const RunRequest& request) {
  if (!state_->stage) {
    return fail(ErrorKind::kUsage, "run.in_memory", "only a stored transaction can have a run");
  }
  if (!request.name.empty()) GALLEY_TRY(check_run_name(request.name));
  Action action;
  action.record.kind = AuditKind::kRun;
  action.record.tool = "run";
  action.record.input = json_document(run_input(request));
  action.tools = tools_with_effect(ToolEffect::kRun);
  action.capabilities = {"exec"};
  action.runs_program = action.is_atomic = action.records_itself = true;
  if (!request.command.argv.empty()) action.intent.programs = {request.command.argv.front()};
  std::unique_ptr<StartedRun> started;
  const auto passed = outer_->pass(std::move(action), [&](AuditEvent& event) -> Result<void> {
    auto made = start_recorded(request, event.execution_id);
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

Result<std::unique_ptr<StartedRun>> InnerTransaction::start_recorded(const RunRequest& request,
                                                                     const std::string& execution) {
  WorkspaceState& workspace = *state_->workspace;
  GALLEY_ASSIGN(RunFolder folder, RunFolder::hold(*workspace.persistent.state(), state_->id));
  RunNote note;
  // An interrupted run that continues has a layer already. Without a note, the layer is a leftover
  // of a removal or of a failed start.
  const auto earlier = folder.note();
  if (!earlier) {
    GALLEY_TRY(erase_layer(folder.directory(), *RelPath::parse("upper")));
    GALLEY_ASSIGN(const Overlay::Entries shown, shown_entries(state_->overlay));
    GALLEY_TRY(write_basis(folder, shown));
    GALLEY_TRY(write_start_refs(folder, workspace.place.path));
  }
  note.tx = state_->id;
  note.name = request.name;
  note.argv = request.command.argv;
  note.agent = state_->options.agent;
  note.execution = execution;
  note.supervisor = ProcessIdentity::own();
  note.since_ns = workspace.place.clock().wall_ns();
  note.is_terminal = note.is_attached = request.is_terminal;
  note.shares_network = request.command.network == NetworkAccess::kHost;
  note.proposes_ignored = request.command.propose_ignored;
  note.writable = request.writable;
  GALLEY_ASSIGN(note.lower_home, ensure_scratch_home(state_->stage->directory()));
  LiveOptions options;
  options.homes = {workspace.persistent.own_path("runs/" + state_->id), note.lower_home};
  options.is_terminal = request.is_terminal;
  options.rows = request.rows;
  options.columns = request.columns;
  options.home = private_home();
  options.git_config = GitFiles(workspace.place.path, effective_user()).identity();
  options.writable = request.writable;
  for (const std::string& place : request.writable) {
    GALLEY_ASSIGN(const auto frozen, program_folders_in(place));
    options.frozen.insert(options.frozen.end(), frozen.begin(), frozen.end());
  }
  options.has_consent = request.has_consent;
  options.hosts = request.command.hosts;
  GALLEY_ASSIGN(options.layers,
                host_layers(state_->stage->directory(), request, workspace.place.path,
                            workspace.persistent.own_path("stage/" + state_->id)));
  for (const HostLayer& layer : options.layers) note.layered.push_back(layer.path);
  GALLEY_TRY(add_git_layer(folder, workspace.place.path, options));
  Command command = request.command;
  for (auto& [name, value] : session_environment(request.is_terminal, options.home)) {
    command.environment.try_emplace(name, value);
  }
  // No commit is published until the note has the mount point of the view.
  GALLEY_ASSIGN(const RunStart run_start, workspace.persistent.begin_run());
  const std::string position = run_start.position() ? run_start.position()->str() : "";
  if (earlier) {
    GALLEY_TRY(rebase_left_run(workspace, folder, state_->overlay.store(), position));
  }
  note.history = position;
  options.before_program = [&](const LiveRun& view) {
    note.mount_fd = view.mount();
    note.began_ns = earlier ? earlier->began_ns : view.began_ns();
    note.mounted_ns = view.began_ns();
    return folder.write_note(note);
  };
  auto live = state_->runner()->start(command, options, state_->overlay);
  if (!live) {
    if (!earlier) (void)RunFolder::remove(*workspace.persistent.state(), std::move(folder));
    return fail(live.error());
  }
  return std::make_unique<StartedRun>(
      StartedRun{std::move(folder), std::move(note), *std::move(live)});
}

const RunReport* InnerTransaction::ended_run() const { return state_->run_report.get(); }

const Error* Transaction::unstaged_run() const {
  return state_->unstaged_run ? &*state_->unstaged_run : nullptr;
}

}  // namespace galley
