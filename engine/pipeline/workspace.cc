#include <galley/workspace.h>

#include <algorithm>
#include <utility>

#include "base/file_mode.h"
#include "base/limits.h"
#include "engine/agent_tools/git_commit.h"
#include "engine/agent_tools/graph_query.h"
#include "engine/audit/audit_chain.h"
#include "engine/audit/recorder.h"
#include "engine/calls/action.h"
#include "engine/calls/guarded_runner.h"
#include "engine/calls/tool_names.h"
#include "engine/commit/history_reader.h"
#include "engine/commit/recovery.h"
#include "engine/commit/state_format.h"
#include "engine/pipeline/approvals.h"
#include "engine/pipeline/configuration_flaw.h"
#include "engine/pipeline/custom_tools.h"
#include "engine/pipeline/decide.h"
#include "engine/pipeline/disk_validator_cache.h"
#include "engine/pipeline/find_root.h"
#include "engine/pipeline/kept_tools.h"
#include "engine/pipeline/maintenance.h"
#include "engine/pipeline/mcp_servers.h"
#include "engine/pipeline/security_tools.h"
#include "engine/pipeline/workspace_state.h"
#include "staging/fs/disk_directory.h"
#include "staging/fs/host_file.h"
#include "tools/standard_tools.h"

namespace galley {
namespace {

Result<Config> read_config(const Directory& root, const std::string& file) {
  if (file.empty()) return load_config(root);
  GALLEY_ASSIGN(const std::string text, read_host_file(file, limits::kMaxConfigBytes));
  return parse_config(text, file);
}

bool is_flaw(const Error& error) {
  return error.kind == ErrorKind::kInvalid || error.kind == ErrorKind::kQuota;
}

/// The configuration; with the strict defaults and the flaw when it has one that is tolerated.
Result<Config> read_usable_config(const Directory& root, const WorkspaceOptions& options,
                                  std::optional<Error>& flaw) {
  auto config = read_config(root, options.config_file);
  if (!options.tolerates_bad_configuration || !options.config_file.empty()) return config;
  if (config) {
    if (const auto made = check_validators(*config, root); !made) config = fail(made.error());
  }
  if (config || !is_flaw(config.error())) return config;
  flaw = config.error();
  return strict_defaults();
}

/// What galley.toml says to the tools that stand in profiles.
ToolSetting setting_of(std::map<std::string, ToolConfig> tools) {
  return [tools = std::move(tools)](std::string_view tool, std::string_view key) {
    const auto table = tools.find(std::string(tool));
    if (table == tools.end()) return std::string();
    const auto value = table->second.config.find(std::string(key));
    return value == table->second.config.end() ? std::string() : value->second;
  };
}

}  // namespace

Result<void> WorkspaceState::judge_trust() {
  trust_part = trust_part_of(config);
  GALLEY_ASSIGN(const bool counts, is_trusted(user, root_path, trust_part));
  if (counts) return {};
  take_trust_away(config);
  std::string all;
  for (const std::string& one : config.not_trusted) all += (all.empty() ? "" : "; ") + one;
  notices.push_back(config.file + " asks for what nobody trusted, so it does not count: " + all +
                    ". Look at it with: galley trust");
  return {};
}

Result<void> WorkspaceState::open_state() {
  if (options.tree != nullptr) {
    doubt = Error{ErrorKind::kRefused, "workspace.tree",
                  "this workspace shows a tree that nobody writes: nothing is kept or committed in "
                  "it. Take the diff of the transaction, or begin it where the files are",
                  "", 0};
    return {};
  }
  auto opened = StateDirectory::open(*writable_root);
  doubt.reset();
  if (!opened && opened.error().reason == "state.not_believed") {
    doubt = opened.error();
    return {};
  }
  if (!opened) return opened.error();
  if (!*opened) return {};
  {
    const std::lock_guard guard(mutex);
    set_state(**std::move(opened));
  }
  GALLEY_ASSIGN(const auto unbound, unbound_state(*state_directory));
  if (!unbound.empty()) notices.push_back(told(unbound));
  return options.recovers ? recover() : Result<void>();
}

Result<void> WorkspaceState::look_for_state() {
  if (doubt || state_directory) return {};
  GALLEY_ASSIGN(auto found, StateDirectory::open(*writable_root));
  const std::lock_guard guard(mutex);
  if (found && !state_directory) set_state(*std::move(found));
  return {};
}

/// The log first: whoever sees the directory may use both.
void WorkspaceState::set_state(StateDirectory made) {
  auto directory = std::make_unique<StateDirectory>(std::move(made));
  audit.set(std::make_unique<AuditLog>(*directory, clock()));
  state_directory.set(std::move(directory));
}

Result<void> WorkspaceState::need_state() {
  GALLEY_TRY(check_belief());
  if (state_directory) return {};
  const std::lock_guard guard(mutex);
  if (state_directory) return {};  // another thread was first
  GALLEY_TRY(check_owner_of_root(*writable_root, root_path, user.config));
  GALLEY_ASSIGN(StateDirectory made, StateDirectory::open_or_create(*writable_root));
  set_state(std::move(made));
  return {};
}

ValidatorCache* WorkspaceState::need_cache() {
  const std::lock_guard guard(mutex);
  if (cache != nullptr || config.validators.empty()) return cache.get();
  if (state_directory) {
    const RelPath place = state_directory->own("cache");
    auto made = make_directories(state_directory->root(), place, kPrivateDirectory);
    auto opened = made ? state_directory->root().open_writable_directory(place)
                       : Result<std::unique_ptr<WritableDirectory>>(made.error());
    // A cache that cannot be kept is only slower.
    if (opened) cache = std::make_unique<DiskValidatorCache>(*std::move(opened));
  }
  if (cache == nullptr) cache = std::make_unique<MemoryValidatorCache>();
  return cache.get();
}

CommandRunner* WorkspaceState::need_runner(const Principals& who) {
  if (options.runner != nullptr) return options.runner;
  const std::lock_guard guard(mutex);
  std::unique_ptr<CommandRunner>& runner = runners[{who, bool(state_directory)}];
  if (runner != nullptr) return runner.get();
  if (options.tree != nullptr) {
    runner = options.tree->make_runner(config, who, clock());
    return runner.get();
  }
  GuardedRunnerOptions runner_options;
  runner_options.workspace = root_path;
  runner_options.who = who;
  // Without a place that stays, what validators keep goes with the process: only slower.
  if (state_directory) {
    const auto made =
        make_directories(state_directory->root(), state_directory->own("keep"), kPrivateDirectory);
    if (made) runner_options.keep_home = own_path("keep");
  }
  runner = make_guarded_runner(config, std::move(runner_options), clock());
  return runner.get();
}

Result<void> WorkspaceState::recover() {
  RecoveryOptions recovery;
  recovery.boot_id = current_boot_id();
  recovery.audit = audit.get();
  GALLEY_ASSIGN(const RecoveryReport report,
                recover_if_needed(*writable_root, *state_directory, clock(), recovery));
  for (std::string& line : repairs_of(report, false)) notices.push_back(std::move(line));
  for (const RecoveryAction& action : report.actions) {
    if (action.kind != RecoveryAction::Kind::kRescue) continue;
    notices.push_back("recovery met bytes of others: '" + action.path + "' " + action.text);
  }
  return {};
}

Result<size_t> WorkspaceState::restore_audit() {
  if (!state_directory) return size_t{0};
  GALLEY_ASSIGN(const auto commits, recorded_commits());
  std::vector<std::string> records;
  for (const RecordedCommit& commit : commits) records.push_back(commit.record);
  GALLEY_TRY(audit->close_gap());
  return audit->append_missing(records);
}

Result<AuditVerification> WorkspaceState::verify_audit() const {
  if (!state_directory) return AuditVerification();
  GALLEY_ASSIGN(AuditVerification found, audit->verify());
  GALLEY_ASSIGN(const auto commits, recorded_commits());
  std::vector<std::string> records;
  for (const RecordedCommit& commit : commits) records.push_back(commit.record);
  GALLEY_ASSIGN(const auto missing, audit->missing(records));
  for (const size_t index : missing) {
    const RecordedCommit& commit = commits[index];
    // What is in j/ is added when its journal retires.
    if (!commit.is_retired || found.defects.size() >= kMaxAuditDefects) continue;
    found.defects.push_back({0, 0, "audit.unrecorded",
                             "the log has no record of transaction " + commit.id.str() +
                                 "; it is in the journal, and galley doctor --repair adds it"});
  }
  return found;
}

Result<std::vector<RecordedCommit>> WorkspaceState::recorded_commits() const {
  std::vector<RecordedCommit> commits;
  GALLEY_ASSIGN(const std::string first, audit->first_timestamp());
  GALLEY_ASSIGN(const auto pending, journal_ids(state_directory->journals()));
  GALLEY_ASSIGN(const auto ids, committed_ids(*state_directory));
  for (const TxId id : ids) {
    const auto found = load_committed(*state_directory, id, ImageUse::kSkip);
    if (!found) continue;  // damaged, which doctor tells of
    const bool is_retired = !std::binary_search(pending.begin(), pending.end(), id);
    for (const std::string& record : found->journal.meta.audit) {
      // A log that was begun anew does not go back behind its beginning.
      const std::string made = audit_timestamp(record);
      if (!made.empty() && (!is_retired || made >= first)) {
        commits.push_back({id, is_retired, record});
      }
    }
  }
  return commits;
}

Result<ToolRegistry*> WorkspaceState::need_registry() {
  const std::lock_guard guard(mutex);
  if (registry == nullptr) {
    auto made = std::make_unique<ToolRegistry>();
    GALLEY_TRY(add_standard_tools(*made));
    GALLEY_TRY(add_dialect_tools(*made, setting_of(config.tools)));
    GALLEY_TRY(made->add(make_graph_query({root_path, [this] { return state(); }})));
    GALLEY_TRY(made->add(make_git_commit(root_path)));
    made->set_dependencies(options.dependencies);
    GALLEY_TRY(add_security_tools(*made, *this));
    GALLEY_TRY(add_custom_tools(*made, user, root_path));
    GALLEY_TRY(add_mcp_servers(*made, user, root_path));
    for (ToolDefinition& own : options.tools) {
      GALLEY_TRY(add_own_tool(*this, *made, std::move(own)));
    }
    options.tools.clear();
    for (const auto& [name, tool] : config.tools) made->set_enabled(name, tool.is_enabled);
    registry = std::move(made);
  }
  return registry.get();
}

Workspace::Workspace(std::unique_ptr<WorkspaceState> state) : state_(std::move(state)) {}
Workspace::~Workspace() = default;

Result<std::unique_ptr<Workspace>> Workspace::open(const std::string& path,
                                                   WorkspaceOptions options) {
  auto state = std::make_unique<WorkspaceState>();
  auto start = absolute_path(path);
  if (!start) {
    return fail(ErrorKind::kUsage, "workspace.not_found",
                "there is no directory '" + path + "' to work in", path);
  }
  if (options.user != nullptr) {
    state->user = *options.user;
  } else if (options.uses_personal_settings) {
    GALLEY_ASSIGN(state->user, load_user_settings());
  }
  state->user.trusts_workspaces |= options.trusts_configuration;
  FoundRoot found{*start, {}};
  if (options.tree == nullptr) {
    GALLEY_ASSIGN(found, find_root(*start, state->user.config));
  }
  state->root_path = std::move(found.path);
  state->notices = std::move(found.notices);
  if (is_at_or_below(state->user.config_path, state->root_path)) {
    // Whoever edits in the workspace could have written it, its hooks on the host too.
    state->user.config = UserConfig();
  }
  GALLEY_ASSIGN(state->writable_root, open_writable_disk_directory(state->root_path));
  state->options = std::move(options);
  GALLEY_ASSIGN(state->config,
                read_usable_config(state->root(), state->options, state->configuration_flaw));
  GALLEY_TRY(state->judge_trust());
  state->config.grants = state->grant_book;
  state->config.configuration_is_editable |= state->user.config.edits_configuration;
  state->config.agent_files_are_editable |= state->user.config.edits_configuration;
  // Before anything is recovered: a tool that cannot be used is the caller's slip.
  if (!state->options.tools.empty()) GALLEY_TRY(state->need_registry());
  GALLEY_TRY(state->look_for_unknown_tools());
  GALLEY_TRY(state->open_state());
  // What cannot be read denies agents everything; a person still gets in to mend it.
  if (const auto read = state->refresh_grants(); !read) {
    state->notices.push_back(read.error().message);
  }
  return std::unique_ptr<Workspace>(new Workspace(std::move(state)));
}

Result<Preview> Workspace::judge(Proposal proposal, const TransactionOptions& who,
                                 const std::function<void(const GateProgress&)>& on_progress) {
  return galley::judge(*state_, std::move(proposal), who, on_progress);
}

Result<CommitOutcome> Workspace::commit(Proposal proposal, const TransactionOptions& who,
                                        const CommitRequest& request) {
  Recorder recorder(state_->audit, state_->clock(), RecordTime::kAtOnce);
  Action action;
  action.record.kind = kind_of(request);
  action.record.tool = request.tool;
  action.record.proposal = proposal.id().hex();
  action.tools = tools_that(ToolDeed::kChange);
  action.records_itself = true;
  std::optional<CommitOutcome> outcome;
  const auto passed =
      pass_alone(*state_, who, recorder, std::move(action), [&](AuditEvent&) -> Result<void> {
        GALLEY_ASSIGN(outcome, decide_and_publish(*state_, proposal, who, request, recorder));
        return {};
      });
  GALLEY_TRY(passed);
  return *std::move(outcome);
}

Result<void> Workspace::approve(const ContentId& proposal, const std::string& by,
                                const TransactionOptions& who) {
  GALLEY_TRY(state_->need_state());
  Recorder recorder(state_->audit, state_->clock(), RecordTime::kAtOnce);
  Action action;
  action.record.kind = AuditKind::kApproval;
  action.record.tool = "approve";
  action.record.proposal = proposal.hex();
  action.record.reason = "given beforehand by " + by;
  const auto passed =
      pass_alone(*state_, who, recorder, std::move(action), [&](AuditEvent&) -> Result<void> {
        if (who.agent.empty()) return {};
        return fail(ErrorKind::kRefused, "approval.by_agent",
                    "an agent does not approve; have a person say it, without --agent");
      });
  GALLEY_TRY(passed);
  return keep_approval(*state_->state_directory, proposal, by, state_->clock().wall_ns());
}

const Error* Workspace::state_doubt() const { return state_->doubt ? &*state_->doubt : nullptr; }

Result<void> Workspace::take_up_state() {
  Recorder recorder(state_->audit, state_->clock(), RecordTime::kAtOnce);
  Action action;
  action.record.kind = AuditKind::kAdoption;
  action.record.tool = "recover";
  if (state_->doubt) action.record.reason = state_->doubt->message;
  return pass_alone(*state_, {}, recorder, std::move(action), [&](AuditEvent&) -> Result<void> {
    state_->options.recovers = true;
    GALLEY_TRY(state_->open_state());
    return state_->need_state();
  });
}

const std::string& Workspace::root_path() const { return state_->root_path; }
const Error* Workspace::configuration_flaw() const {
  return state_->configuration_flaw ? &*state_->configuration_flaw : nullptr;
}
const std::vector<std::string>& Workspace::notices() const { return state_->notices; }

}  // namespace galley
