#include <galley/transaction.h>

#include <functional>
#include <mutex>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/calls/call_runner.h"
#include "engine/calls/early_policy.h"
#include "engine/calls/executor.h"
#include "engine/calls/guarded_runner.h"
#include "engine/calls/sanitizer.h"
#include "engine/calls/tool_names.h"
#include "engine/history/history.h"
#include "engine/pipeline/agent_session.h"
#include "engine/pipeline/asked_calls.h"
#include "engine/pipeline/decide.h"
#include "engine/pipeline/inner_transaction.h"
#include "engine/pipeline/persistent_state.h"
#include "engine/pipeline/transaction_state.h"
#include "engine/pipeline/workspace_state.h"
#include "engine/policy/policy.h"
#include "engine/stages/run_basis.h"
#include "engine/stages/savepoints.h"
#include "engine/stages/stored_stage.h"
#include "staging/overlay/staged_step.h"
#include "tools/call_arguments.h"

namespace galley {

JsonDocument json_document(nlohmann::ordered_json json) {
  return std::make_shared<const nlohmann::ordered_json>(std::move(json));
}

Principals TransactionOptions::principals() const {
  Principals all(agent);
  if (owner) all.add(*owner);
  for (const std::string& name : contributors) all.add(name);
  return all;
}

Transaction::Transaction(std::unique_ptr<State> state) : state_(std::move(state)) {}
Transaction::Transaction(Transaction&&) noexcept = default;
Transaction& Transaction::operator=(Transaction&&) noexcept = default;
Transaction::~Transaction() = default;

Result<RelPath> Transaction::parse(std::string_view path) const {
  return RelPath::parse_within(path, state_->workspace->place.path);
}

void Transaction::set_default_message(std::string message) {
  if (!state_->options.message.empty()) return;
  state_->reason = message;  // a stored transaction keeps it when it is saved
  state_->options.message = std::move(message);
}

// --- passing actions to the executor --------------------------------------------------------

namespace {

Action action_of(AuditKind kind, std::string tool, std::vector<std::string> tools,
                 nlohmann::ordered_json input = {}) {
  Action action;
  action.record.kind = kind;
  action.record.tool = std::move(tool);
  if (!input.is_null()) action.record.input = json_document(std::move(input));
  action.tools = std::move(tools);
  return action;
}

/// Makes the runner of a transaction when a call starts its first program. Most calls start none.
class FirstUseRunner final : public CommandRunner {
 public:
  explicit FirstUseRunner(std::function<CommandRunner*()> make) : make_(std::move(make)) {}

  Result<CommandResult> run(const Command& command, Overlay& overlay) override {
    std::call_once(is_made_, [this] { runner_ = make_(); });  // calls that read run in parallel
    return runner_->run(command, overlay);
  }

 private:
  std::function<CommandRunner*()> make_;
  std::once_flag is_made_;
  CommandRunner* runner_ = nullptr;
};

tl::unexpected<Error> no_longer_open() {
  return fail(ErrorKind::kUsage, "transaction.over", "this transaction is over; begin another");
}

}  // namespace

ExecutorOptions Transaction::executor_options(const CallOptions& call) const {
  WorkspaceState& workspace = *state_->workspace;
  ExecutorOptions options;
  static_cast<CallOptions&>(options) = call;
  // The message of a stored transaction may be the reason of another call.
  if (options.reason.empty())
    options.reason = state_->stage ? state_->reason : state_->options.message;
  options.root = workspace.place.path;
  options.agent = state_->options.agent;
  options.owner = state_->options.owner;
  if (workspace.tools.is_shared) options.seen_by = id();
  const bool is_remembered = !workspace.tools.is_shared || state_->stage;
  if (is_remembered) options.seen = &workspace.tools.seen;
  options.is_preview = state_->options.is_preview;
  options.deterministic |= state_->options.is_deterministic;
  SessionBounds session;
  session.reads_only = state_->options.reads_only;
  if (state_->live_run) session.live_run = id();
  if (const auto fresh = workspace.rules.refresh_grants(workspace.persistent); !fresh)
    session.no_grants = fresh.error();
  if (session.reads_only) options.tools = ToolRegistry::Mode::kReadOnly;
  options.policy.emplace(workspace.rules.config, state_->options.principals(), &state_->overlay,
                         std::move(session));
  return options;
}

Result<void> Transaction::pass(Action action, const Effect& effect, const CallOptions& call) {
  if (state_->is_over) return no_longer_open();
  WorkspaceState& workspace = *state_->workspace;
  Executor executor(nullptr, state_->recorder, workspace.place.clock(), executor_options(call));
  auto done = executor.perform(&state_->overlay, std::move(action), effect);
  if (!executor.warning().empty()) state_->unrecorded = executor.warning();
  for (StagedStep& step : executor.take_steps()) {
    if (state_->transcript) state_->transcript->add(step);
    state_->keep_step(std::move(step));
  }
  return done;
}

// --- tools and commands ---------------------------------------------------------------------

CallResult Transaction::call(const std::string& tool, std::string_view json_arguments,
                             const CallOptions& options) {
  auto results = inner(*this).call_all({ToolCall::parse(tool, json_arguments)}, options);
  return std::move(results.front());
}

ToolResult InnerTransaction::call_recorded(ToolCall call, const CallOptions& options) {
  WorkspaceState& workspace = *state_->workspace;
  const auto ready = workspace.persistent.ensure();
  const auto registry = workspace.tools.registry();
  const auto found = registry ? (*registry)->get(call.tool) : fail(registry.error());
  // No program is started without a record, also if its definition says that it changes nothing.
  const bool only_reads = found && (*found)->tool->info().annotations.read_only &&
                          !(*found)->tool->info().annotations.open_world;
  if (!ready && !call.flaw && !only_reads) call.flaw = ready.error();
  ToolResult result = std::move(call_all({std::move(call)}, options).front());
  if (!ready) warn_unrecorded(result.meta, ready.error());
  return result;
}

const std::string& InnerTransaction::unrecorded() const { return state_->unrecorded; }

std::vector<ToolResult> InnerTransaction::call_all(const std::vector<ToolCall>& calls,
                                                   const CallOptions& call) {
  WorkspaceState& workspace = *state_->workspace;
  if (state_->is_over) return {ToolResult::failure(tool_error_from(no_longer_open().value()))};
  const auto registry = workspace.tools.registry();
  if (!registry) return {ToolResult::failure(tool_error_from(registry.error()))};
  ExecutorOptions options = outer_->executor_options(call);
  if (state_->transcript) {
    if (const auto room = state_->transcript->check_room(); !room) {
      return {ToolResult::failure(tool_error_from(room.error()))};
    }
    options.secrets = state_->transcript->watched(call.secrets);
  }
  options.capabilities = options.policy->capabilities();
  FirstUseRunner commands([this] { return state_->runner(); });
  options.commands = &commands;
  options.supervisor = &workspace.tools.supervisor();
  options.last_step = workspace.rules.config.edits.max_step;
  options.strict = workspace.rules.config.edits.strict;
  options.earlier = earlier_versions(workspace.persistent);
  options.known_secrets = &workspace.tools.known_secrets;
  options.secrets_in_files = workspace.rules.config.secrets.in_files;
  std::optional<ConfirmationStore> asked;
  if (workspace.persistent.state() != nullptr) asked.emplace(*workspace.persistent.state());
  options.desk = {workspace.rules.config.policy.mode,
                  state_->options.principals(),
                  &call,
                  &workspace.place.clock(),
                  call.dry_run || state_->options.is_preview,
                  asked ? &*asked : nullptr,
                  &state_->recorder};
  Executor executor(*registry, state_->recorder, workspace.place.clock(), std::move(options));
  Executor::StagedCalls staged = executor.stage_calls(state_->overlay, calls);
  if (!executor.warning().empty()) state_->unrecorded = executor.warning();
  std::vector<StagedStep> steps = executor.take_steps();
  if (!staged.ok()) steps.clear();  // they count only if all calls succeed
  if (state_->transcript) state_->transcript->add(calls, staged.results, steps, call, **registry);
  for (StagedStep& step : steps) state_->keep_step(std::move(step));
  if (staged.ok()) state_->ask_for_git_commits(calls, staged.results);
  // A transaction in memory may end without a commit. Then nothing else writes these records.
  if (!state_->stage && state_->steps.empty() && !staged.results.empty()) {
    if (const auto written = state_->recorder.write_or_drop_held(); !written) {
      state_->unrecorded = warn_unrecorded(staged.results.back().meta, written.error());
    }
  }
  return std::move(staged.results);
}

Result<void> Transaction::transcribe_to(const std::string& file) {
  const WorkspaceState& workspace = *state_->workspace;
  TranscriptHeader header{workspace.place.path, state_->options.agent, state_->id,
                          rfc3339_utc(workspace.place.clock().wall_ns())};
  GALLEY_ASSIGN(state_->transcript, TranscriptFile::open(file, std::move(header)));
  return {};
}

namespace {

nlohmann::ordered_json on_record(const CommandResult& result) {
  nlohmann::ordered_json output = {{"staged", result.effects_staged},
                                   {"staged_paths", result.staged_paths}};
  if (result.exit_code) output["exit_code"] = *result.exit_code;
  if (result.exit_signal) output["signal"] = *result.exit_signal;
  return output;
}

}  // namespace

Result<CommandResult> InnerTransaction::run(const Command& command, const CallOptions& options) {
  Action action = action_of(AuditKind::kExec, "exec", tools_with_effect(ToolEffect::kRun),
                            {{"argv", command.argv}});
  action.runs_program = true;
  action.is_atomic = true;
  action.capabilities = {"exec"};
  if (!command.argv.empty()) action.intent.programs = {command.argv.front()};
  Command bounded = command;
  bounded.is_deterministic |= state_->options.is_deterministic;
  std::optional<CommandResult> result;
  const auto passed = outer_->pass(
      std::move(action),
      [&](AuditEvent& event) -> Result<void> {
        GALLEY_ASSIGN(const RelPath cwd,
                      directory_argument(options.cwd, {state_->workspace->place.path}));
        const Command asked = bounded_by_call(bounded, options, cwd);
        CommandRunner& runner = *state_->runner();
        GALLEY_ASSIGN(result, state_->options.agent.empty()
                                  ? runner.run(asked, state_->overlay)
                                  : run_redacted(runner, asked, state_->overlay));
        event.output = json_document(on_record(*result));
        if (result->breach) event.error = tool_error_from(result->breach->error());
        return {};
      },
      options);
  GALLEY_TRY(passed);
  return *std::move(result);
}

Result<Transaction::RunResult> Transaction::run(const std::vector<std::string>& argv,
                                                const CallOptions& options) {
  Command command;
  command.argv = argv;
  GALLEY_ASSIGN(CommandResult result, inner(*this).run(command, options));
  RunResult ran;
  ran.exit_code = result.exit_code;
  if (result.breach) ran.breach = result.breach->error();
  ran.standard_output = result.standard_output.text();
  ran.standard_error = result.standard_error.text();
  ran.is_staged = result.effects_staged;
  ran.staged_paths = result.staged_paths;
  for (const RefusedEffect& one : result.refused) ran.refused.push_back(one.path);
  return ran;
}

// --- reading --------------------------------------------------------------------------------

Result<std::string> Transaction::read(std::string_view path) {
  GALLEY_ASSIGN(const RelPath source, parse(path));
  GALLEY_ASSIGN(const Content content, state_->overlay.read(source));
  return *content;
}

Result<Node> Transaction::look(std::string_view path) {
  GALLEY_ASSIGN(const RelPath source, parse(path));
  return look(source);
}

Result<Node> Transaction::look(const RelPath& path) {
  return state_->overlay.node_without_content(path);
}

Result<std::vector<std::string>> Transaction::list(std::string_view path) {
  const bool is_root = path.empty() || path == ".";
  GALLEY_ASSIGN(const RelPath directory, is_root ? RelPath::root() : parse(path));
  return state_->overlay.list(directory).map(listed_names);
}

Proposal Transaction::proposal() const { return Proposal::freeze(state_->overlay); }
const Overlay& overlay_of(const Transaction& transaction) { return transaction.state_->overlay; }

// --- deciding -------------------------------------------------------------------------------

Result<Preview> Transaction::preview(const std::function<void(const GateProgress&)>& on_progress) {
  return judge(*state_->workspace, Proposal::freeze(state_->overlay), state_->options, on_progress);
}

Result<FixReport> InnerTransaction::fix() {
  WorkspaceState& workspace = *state_->workspace;
  const Principals who = state_->options.principals();
  std::optional<FixReport> report;
  const Overlay::Entries before = state_->overlay.entries();
  Action action = action_of(AuditKind::kFix, "fix", tools_with_effect(ToolEffect::kEdit));
  action.runs_program = true;
  action.is_atomic = true;
  const auto passed = outer_->pass(std::move(action), [&](AuditEvent& event) -> Result<void> {
    GALLEY_ASSIGN(report, fix_staged(workspace.rules.config, state_->overlay,
                                     {*workspace.tools.runner_for(who), workspace.place.clock(),
                                      who, Deadline(), state_->options.stop}));
    event.output = json_document(
        {{"runs", report->runs.size()}, {"changed", report->change.changes().size()}});
    return {};
  });
  GALLEY_TRY(passed);
  if (report->change.is_empty() || !state_->stage) return *std::move(report);
  GALLEY_ASSIGN(const WritableDirectory* stage, outer_->stage_directory());
  if (const auto kept =
          make_savepoint(*stage, Transaction::kBeforeFix, before, workspace.place.clock());
      !kept) {
    state_->overlay.restore(before);
    return fail(kept.error());
  }
  return *std::move(report);
}

Result<Proposal> Transaction::fix() {
  return inner(*this).fix().map([](FixReport&& report) { return std::move(report.change); });
}

Result<BisectReport> InnerTransaction::bisect(const BisectOptions& options) {
  WorkspaceState& workspace = *state_->workspace;
  BisectOptions bounded = options;
  if (bounded.parallel == 0) bounded.parallel = workspace.rules.config.sandbox.max_parallel;
  const PartJudge judge = [&](const Proposal& part, const GateRequest& bounds) {
    return verdict_on(workspace, part, state_->options, {bounds, {}});
  };
  return bisect_proposal(Proposal::freeze(state_->overlay), judge, bounded,
                         workspace.place.clock());
}

Result<CommitOutcome> Transaction::commit(const CommitRequest& wanted) {
  if (state_->is_over) return no_longer_open();
  if (state_->options.is_preview || state_->is_view) {
    return fail(ErrorKind::kUsage, "transaction.preview",
                "this transaction was begun to look only; begin another to commit");
  }
  if (state_->options.reads_only) return fail(refusal_of_writing());
  if (state_->unstaged_run) return fail(*state_->unstaged_run);
  CommitRequest request = wanted;
  if (state_->stage) {
    GALLEY_ASSIGN(const auto undo, read_resolved_undo(state_->stage->directory()));
    if (undo) {
      request.tool = undo->tool;
      request.undoes = undo->undoes;
      request.also_undoes = undo->also_undoes;
    }
  }
  std::optional<CommitOutcome> outcome;
  CommitNumber on_number;
  if (state_->live_run) {
    on_number = [this](TxId number, const Proposal& published) {
      return note_checkpoint(*state_->live_run, number, published.id(), state_->overlay.entries());
    };
  } else if (state_->stage) {
    on_number = [this](TxId number, const Proposal& published) {
      return state_->stage->note_commit(number, published.id());
    };
  }
  const Proposal proposed = proposal();
  const auto decide = [&](AuditEvent&) -> Result<void> {
    GALLEY_ASSIGN(outcome, decide_and_publish(*state_->workspace, proposed, state_->options,
                                              request, state_->recorder, on_number));
    return {};
  };
  Action action = action_of(AuditKind::kCommit, request.tool, {});
  action.is_atomic = action.records_itself = true;
  // A call that only read ends here. There is nothing that the rules of a commit could refuse.
  GALLEY_TRY(proposed.is_empty() ? decide(action.record) : pass(std::move(action), decide));
  auto* receipt = std::get_if<Receipt>(&*outcome);
  if (receipt == nullptr) {
    GALLEY_TRY(state_->recorder.write_held());
    return *std::move(outcome);
  }
  // The commit is done. Later failures are reported as warnings and do not change the outcome.
  if (state_->live_run) {
    // A checkpoint: the run goes on above it.
    if (const auto taken_up = collect_run(); !taken_up) {
      receipt->warnings.push_back("what the run wrote since cannot be staged here: " +
                                  taken_up.error().message);
      state_->unstaged_run = taken_up.error();
    }
    return *std::move(outcome);
  }
  state_->end_with(*receipt);
  if (state_->stage) {
    // The contents are removed with the stage. The history has them now.
    auto kept = History(*state_->workspace->persistent.state()).proposal_of(receipt->id);
    if (kept) outcome->proposal = *std::move(kept);
  }
  if (const auto dropped = drop_stage(); !dropped) {
    receipt->warnings.push_back("what was kept of the open transaction " + id() +
                                " could not be cleared away (" + dropped.error().message +
                                "); galley gc removes it two weeks later");
  }
  return *std::move(outcome);
}

Result<void> Transaction::rollback() { return inner(*this).rollback({}, {}); }

Result<void> InnerTransaction::rollback(const CallOptions& call, JsonDocument result) {
  if (!state_->is_view) {
    Action action = outer_->own_step(AuditKind::kRollback);
    action.record.output = std::move(result);
    const auto restore = [&](AuditEvent&) -> Result<void> {
      GALLEY_TRY(outer_->check_may_change_staged());
      state_->overlay.restore({});
      return {};
    };
    GALLEY_TRY(outer_->pass(std::move(action), restore, call));
  }
  state_->is_over = true;
  GALLEY_TRY(state_->recorder.write_held());
  return outer_->drop_stage();
}

/// Savepoints, forks and rollbacks need no tool in the caller's own transaction. In a transaction
/// of another agent they need a tool that could have staged the changes.
Action Transaction::own_step(AuditKind kind) const {
  std::vector<std::string> tools;
  if (state_->options.owner) tools = tools_with_effect(ToolEffect::kChange);
  return action_of(kind, std::string(to_string(kind)), std::move(tools));
}

/// Checks that the caller could have staged every change of another agent that it reverts, marks or
/// copies. Profiles apply, but path rules do not, since a rollback is not an edit.
Result<void> Transaction::check_may_change_staged() const {
  if (!state_->options.owner) return {};
  const Policy policy(state_->workspace->rules.config);
  for (const auto& [path, entry] : state_->overlay.entries()) {
    if (entry.before == entry.now) continue;
    const Judgement judgement =
        policy.judge_write(path, staged_operation(entry), state_->options.agent);
    if (judgement.decision == Decision::kDeny) return fail(error_of(judgement));
  }
  return {};
}

Result<void> Transaction::drop_stage() {
  state_->own_runner.reset();  // its layers are in the stage
  if (!state_->stage) return {};
  StoredStage stage = *std::exchange(state_->stage, std::nullopt);
  GALLEY_TRY(drop_layers(stage.directory()));
  if (state_->unstaged_run) {
    GALLEY_ASSIGN(RunFolder folder,
                  RunFolder::open(*state_->workspace->persistent.state(), stage.id()));
    GALLEY_TRY(RunFolder::remove(*state_->workspace->persistent.state(), std::move(folder)));
  }
  return StoredStage::remove(*state_->workspace->persistent.state(), std::move(stage));
}

// --- stored transactions --------------------------------------------------------------------

const std::string& Transaction::id() const { return state_->id; }
const TransactionOptions& Transaction::options() const { return state_->options; }

Result<void> Transaction::save() {
  if (!state_->stage || state_->is_over) return {};
  // Note the contributor first, so that the gate judges the agent of every staged change.
  if (state_->options.owner && !state_->stage->has_contributor(state_->options.agent)) {
    const Overlay::Entries& now = state_->overlay.entries();
    if (!restaged_paths(state_->owners, now).empty()) {
      GALLEY_TRY(state_->stage->note_contributor(state_->options.agent));
    }
    state_->owners = now;
  }
  GALLEY_TRY(state_->stage->note_reason(state_->reason));
  if (!state_->steps.empty()) GALLEY_TRY(state_->stage->add_steps(state_->steps));
  state_->steps.clear();
  if (state_->saved_version == state_->overlay.version()) return {};
  GALLEY_TRY(state_->stage->save(state_->overlay.entries()));
  state_->saved_version = state_->overlay.version();
  return {};
}

Result<Transaction> Transaction::fork() {
  GALLEY_TRY(stage_directory());
  WorkspaceState& workspace = *state_->workspace;
  std::optional<StoredStage> child;
  const auto passed = pass(own_step(AuditKind::kFork), [&](AuditEvent& event) -> Result<void> {
    GALLEY_TRY(check_may_change_staged());
    if (state_->saved_version != state_->overlay.version()) GALLEY_TRY(save());
    // A fork of another agent's transaction keeps its owner, so it is still judged by the owner's
    // rules.
    const StageHeader about{state_->stage->about().agent,
                            state_->options.message,
                            workspace.place.clock().wall_ns(),
                            state_->options.has_markers,
                            {},
                            0,
                            state_->stage->about().session};
    GALLEY_ASSIGN(child, state_->stage->fork(*workspace.persistent.state(), about));
    event.output = json_document({{"tx", child->id()}});
    return {};
  });
  if (!passed) {
    if (child) (void)StoredStage::remove(*workspace.persistent.state(), *std::move(child));
    return fail(passed.error());
  }
  auto state = std::make_unique<State>(workspace, child->contents(), state_->options, child->id());
  state->owners = state_->owners;
  state->overlay.share(state_->overlay);
  state->steps = state_->steps;
  state->step_paths = state_->step_paths;
  state->saved_version = state->overlay.version();
  state->stage = *std::move(child);
  state->recorder.began_at(state->stage->about().begun_ns);
  return Transaction(std::move(state));
}

Result<RebaseOutcome> InnerTransaction::stage_with_markers(const Proposal& proposal) {
  GALLEY_TRY(outer_->stage_directory());
  const WorkspaceState& workspace = *state_->workspace;
  if (workspace.rules.config.commit.on_conflict == OnConflict::kRefuse) {
    return fail(ErrorKind::kRefused, "markers.refused",
                "commit.on_conflict = \"refuse\" merges nothing");
  }
  RebaseOptions options;
  options.mode = MergeMode::kMarkers;
  std::optional<RebaseOutcome> outcome;
  Action action = action_of(AuditKind::kEdit, "markers", tools_with_effect(ToolEffect::kEdit),
                            {{"proposal", proposal.id().hex()}});
  const auto passed = outer_->pass(std::move(action), [&](AuditEvent& event) -> Result<void> {
    GALLEY_ASSIGN(outcome,
                  rebase(proposal, workspace.place.files(), workspace.place.clock(), options));
    const auto* fits = std::get_if<Rebased>(&*outcome);
    if (fits == nullptr) {
      event.error = ToolError{ToolErrorCode::kRuntime, "markers.no_lines",
                              "what both sides changed has no lines", nullptr};
      return {};
    }
    // Note the markers before staging them, so they are never staged unnoticed.
    GALLEY_TRY(state_->stage->note_markers());
    state_->options.has_markers = true;
    state_->overlay.restore({});
    return stage_proposal(fits->proposal, state_->overlay);
  });
  GALLEY_TRY(passed);
  if (std::holds_alternative<Rebased>(*outcome)) GALLEY_TRY(outer_->save());
  return *std::move(outcome);
}

Result<void> InnerTransaction::resolve_undo(const ResolvedUndo& undo) {
  GALLEY_TRY(outer_->stage_directory());
  return write_resolved_undo(state_->stage->directory(), undo);
}

Result<std::vector<Conflict::Path>> Transaction::stage_with_markers(const Proposal& proposal) {
  GALLEY_ASSIGN(const RebaseOutcome outcome, inner(*this).stage_with_markers(proposal));
  const auto* misfits = std::get_if<RebaseConflict>(&outcome);
  if (misfits == nullptr) return std::vector<Conflict::Path>();
  return std::vector<Conflict::Path>(misfits->paths.begin(), misfits->paths.end());
}

Result<Transaction> Workspace::begin(const TransactionOptions& options) {
  GALLEY_TRY(check_not_moved(state_->place));
  GALLEY_TRY(follow_branch(*state_));
  GALLEY_TRY(check_agent_is_known(state_->rules.config, options.agent));
  return Transaction(std::make_unique<Transaction::State>(*state_, make_memory_store(), options));
}

Result<Transaction> Workspace::begin_view(const Proposal& shown,
                                          const TransactionOptions& options) {
  GALLEY_TRY(check_agent_is_known(state_->rules.config, options.agent));
  auto state = std::make_unique<Transaction::State>(*state_, make_memory_store(), options);
  state->is_view = true;
  GALLEY_TRY(stage_proposal(shown, state->overlay));
  return Transaction(std::move(state));
}

Result<Transaction> Workspace::begin_stored(const TransactionOptions& options) {
  GALLEY_TRY(check_not_moved(state_->place));
  GALLEY_TRY(follow_branch(*state_));
  GALLEY_TRY(check_agent_is_known(state_->rules.config, options.agent));
  GALLEY_TRY(check_session_id(options.session));
  GALLEY_TRY(state_->persistent.ensure());
  StageHeader about{options.agent, options.message, state_->place.clock().wall_ns()};
  about.session = options.session.empty() ? state_->options.session : options.session;
  GALLEY_ASSIGN(StoredStage stage, StoredStage::create(*state_->persistent.state(), about));
  return Transaction::of_stage(*state_, std::move(stage), options.agent, options.message);
}

Result<Transaction> Transaction::of_stage(WorkspaceState& workspace, StoredStage stage,
                                          const std::string& caller, const std::string& reason) {
  GALLEY_TRY(check_agent_is_known(workspace.rules.config, caller));
  const StageHeader& about = stage.about();
  TransactionOptions options{caller, reason.empty() ? about.message : reason, about.has_markers};
  if (workspace.options.session.empty()) options.session = about.session;
  if (!is_own(about, caller)) options.owner = about.agent;
  options.contributors = about.contributors;
  GALLEY_ASSIGN(const auto undo, read_resolved_undo(stage.directory()));
  if (undo) {
    options.takes_back = undo->also_undoes;
    options.takes_back.push_back(undo->undoes);
  }
  auto state = std::make_unique<State>(workspace, stage.contents(), std::move(options), stage.id());
  GALLEY_ASSIGN(Overlay::Entries entries, stage.load());
  if (state->options.owner) state->owners = entries;
  state->overlay.restore(std::move(entries));
  state->saved_version = state->overlay.version();
  state->reason = reason;
  state->stage = std::move(stage);
  state->recorder.began_at(state->stage->about().begun_ns);
  return Transaction(std::move(state));
}

}  // namespace galley
