#include <galley/transaction.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/hex.h"
#include "base/limits.h"
#include "engine/calls/early_policy.h"
#include "engine/calls/executor.h"
#include "engine/calls/guarded_runner.h"
#include "engine/pipeline/decide.h"
#include "engine/pipeline/earlier_versions.h"
#include "engine/pipeline/transaction_state.h"
#include "engine/pipeline/workspace_state.h"
#include "engine/policy/policy.h"
#include "engine/stages/savepoints.h"
#include "engine/stages/scratch_home.h"
#include "engine/stages/stored_stage.h"
#include "engine/validators/bisect_proposal.h"
#include "engine/validators/fix.h"
#include "staging/formats/read_edits.h"
#include "staging/git/white_space_attributes.h"
#include "staging/overlay/restaged.h"
#include "tools/edit_formats.h"

namespace galley {

namespace {

constexpr size_t kExecutionDigits = 24;

}  // namespace

tl::unexpected<Error> refused_by(const Judgement& judgement) {
  return fail(ErrorKind::kRefused, judgement.id,
              judgement.message + ". To go on: " + judgement.remedy, judgement.path);
}

AuditEvent own_event(std::string kind, const TransactionOptions& who) {
  AuditEvent event;
  event.kind = std::move(kind);
  event.agent = who.agent;
  event.owner = who.owner;
  event.reason = who.message;
  return event;
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
  return RelPath::parse_within(path, state_->workspace->root_path);
}

// --- staging --------------------------------------------------------------------------------

Result<void> Transaction::write(std::string_view path, std::string content) {
  GALLEY_ASSIGN(const RelPath target, parse(path));
  return state_->overlay.write(target, std::move(content));
}

Result<EditOutcome> Transaction::stage_replacement(std::string_view path, std::string_view old_text,
                                                   std::string_view new_text, bool replace_all) {
  GALLEY_ASSIGN(const RelPath target, parse(path));
  EditSet set;
  set.format = EditFormat::kEdits;
  TextEdit edit;
  edit.old_text = set.keep(std::string(old_text));
  edit.new_text = set.keep(std::string(new_text));
  edit.replace_all = replace_all;
  FileEdit file;
  file.path = target.str();
  file.text_edits.push_back(edit);
  set.files.push_back(std::move(file));
  return stage_edits(state_->overlay, set, bounded(StageOptions()));
}

void Transaction::set_default_message(std::string message) {
  if (state_->options.message.empty()) state_->options.message = std::move(message);
}

Result<void> Transaction::remove(std::string_view path) {
  GALLEY_ASSIGN(const RelPath target, parse(path));
  return state_->overlay.remove(target);
}

Result<void> Transaction::move(std::string_view from, std::string_view to) {
  GALLEY_ASSIGN(const RelPath source, parse(from));
  GALLEY_ASSIGN(const RelPath target, parse(to));
  return state_->overlay.move(source, target);
}

Result<void> Transaction::chmod(std::string_view path, uint32_t mode) {
  GALLEY_ASSIGN(const RelPath target, parse(path));
  return state_->overlay.set_mode(target, mode);
}

Result<void> Transaction::symlink(std::string_view path, const std::string& target) {
  GALLEY_ASSIGN(const RelPath link, parse(path));
  return state_->overlay.make_symlink(link, target);
}

Result<void> Transaction::make_directory(std::string_view path) {
  GALLEY_ASSIGN(const RelPath target, parse(path));
  return state_->overlay.make_directory(target);
}

/// What galley.toml allows the matcher at most.
StageOptions Transaction::bounded(StageOptions options) const {
  const EditsConfig& edits = state_->workspace->config.edits;
  options.match.last_step = std::min(options.match.last_step, edits.max_step);
  options.root = state_->workspace->root_path;
  options.earlier = earlier_versions(*state_->workspace);
  options.may_read =
      EarlyPolicy(state_->workspace->config, state_->options.principals(), state_->overlay)
          .reading_rule();
  if (options.match.white_space != WhiteSpaceFix::kNoWarn && !options.white_space_rules) {
    // Without them git's defaults hold.
    if (auto found = WhiteSpaceAttributes::open(options.root)) {
      const auto attributes = std::make_shared<WhiteSpaceAttributes>(*std::move(found));
      options.white_space_rules = [attributes](const RelPath& path) {
        return white_space_rules(attributes->rules_of(path));
      };
    }
  }
  return options;
}

Result<EditOutcome> Transaction::stage_document(std::string document, const StageOptions& options,
                                                const ReadOptions& reading, EditFormat format) {
  const uint64_t most = state_->workspace->config.limits.max_patch_bytes;
  if (most != 0 && document.size() > most) {
    return fail(ErrorKind::kQuota, "limit.patch_size",
                "the edit document has " + std::to_string(document.size()) +
                    " bytes; limits.max_patch_bytes allows " + std::to_string(most));
  }
  AuditEvent event = own_event("call", state_->options);
  event.tool = "stage";
  if (state_->stage) event.input = text_on_record(document);
  const Overlay::Entries before = state_->overlay.entries();
  GALLEY_ASSIGN(const EditSet set,
                read_edits(std::move(document), format, reading, parse_edits_json));
  GALLEY_ASSIGN(EditOutcome outcome, stage_edits(state_->overlay, set, bounded(options)));
  if (options.check_only) {
    state_->overlay.restore(before);
  } else if (outcome.is_staged) {
    GALLEY_TRY(State::settle(*this, before, std::move(event)));
  }
  return outcome;
}

CallResult Transaction::call(const std::string& tool, std::string_view json_arguments) {
  auto parsed = ToolCall::parse(tool, json_arguments);
  if (!parsed) return ToolResult::failure(tool_error_from(parsed.error()));
  auto results = call_all({*std::move(parsed)});
  return std::move(results.front());
}

std::vector<ToolResult> Transaction::call_all(std::vector<ToolCall> calls) {
  for (ToolCall& call : calls) {
    call.tx = state_->id;
    if (call.reason.empty()) call.reason = state_->reason;
  }
  auto registry = state_->workspace->need_registry();
  if (!registry) return {ToolResult::failure(tool_error_from(registry.error()))};
  ExecutorOptions options;
  options.root = state_->workspace->root_path;
  options.agent = state_->options.agent;
  options.owner = state_->options.owner;
  options.commands = state_->runner();
  const EarlyPolicy early(state_->workspace->config, state_->options.principals(), state_->overlay);
  options.capabilities = early.capabilities();
  options.may_read = early.reading_rule();
  options.early_policy = [&early](const ToolInfo& info, const Intent& intent) {
    return early.refusal(info, intent);
  };
  options.last_step = state_->workspace->config.edits.max_step;
  options.earlier = earlier_versions(*state_->workspace);
  Executor executor(**registry, state_->workspace->audit.get(), state_->workspace->clock(),
                    std::move(options));
  return executor.stage_calls(state_->overlay, calls).results;
}

// --- reading --------------------------------------------------------------------------------

Result<std::string> Transaction::read(std::string_view path) {
  GALLEY_ASSIGN(const RelPath source, parse(path));
  GALLEY_ASSIGN(const Content content, state_->overlay.read(source));
  return *content;
}

Overlay& Transaction::overlay() { return state_->overlay; }

// --- deciding -------------------------------------------------------------------------------

Result<Preview> Transaction::preview(const std::function<void(const GateProgress&)>& on_progress) {
  return judge(*state_->workspace, Proposal::freeze(state_->overlay), state_->options, on_progress);
}

Result<FixReport> Transaction::fix() {
  const Overlay::Entries before = state_->overlay.entries();
  WorkspaceState& workspace = *state_->workspace;
  const Principals who = state_->options.principals();
  GALLEY_ASSIGN(FixReport report,
                fix_staged(workspace.config, state_->overlay,
                           {*workspace.need_runner(who), workspace.clock(), who, Deadline(), {}}));
  if (report.change.is_empty() || !state_->stage) return report;
  AuditEvent event = own_event("call", state_->options);
  event.tool = "fix";
  GALLEY_TRY(State::settle(*this, before, std::move(event)));
  GALLEY_ASSIGN(const Directory* stage, stage_directory());
  const auto kept = make_savepoint(*stage, kBeforeFix, before, state_->workspace->clock());
  if (!kept) {
    state_->overlay.restore(before);
    return fail(kept.error());
  }
  return report;
}

Result<BisectReport> Transaction::bisect(const BisectOptions& options) {
  WorkspaceState& workspace = *state_->workspace;
  // Made here, so that the threads below only read.
  (void)workspace.need_runner(state_->options.principals());
  (void)workspace.need_cache();
  BisectOptions bounded = options;
  if (bounded.parallel == 0) bounded.parallel = workspace.config.sandbox.max_parallel;
  const PartJudge judge = [&](const Proposal& part, const GateRequest& bounds) {
    return verdict_on(workspace, part, state_->options, {bounds, {}});
  };
  return bisect_proposal(Proposal::freeze(state_->overlay), judge, bounded, workspace.clock());
}

Result<CommitOutcome> Transaction::commit(const CommitRequest& request) {
  if (state_->is_over) {
    return fail(ErrorKind::kUsage, "transaction.over", "this transaction is over; begin another");
  }
  GALLEY_ASSIGN(CommitOutcome outcome,
                decide_and_publish(*state_->workspace, Proposal::freeze(state_->overlay),
                                   state_->options, request));
  if (std::holds_alternative<Receipt>(outcome)) {
    state_->is_over = true;
    GALLEY_TRY(drop_stage());
  }
  return outcome;
}

Result<void> Transaction::rollback() {
  GALLEY_TRY(check_may_change_staged());
  GALLEY_TRY(record(own_event("rollback", state_->options)));
  state_->overlay.restore({});
  state_->is_over = true;
  return drop_stage();
}

/// Whoever takes away, marks or copies what somebody else staged could have staged it: profiles
/// count, rules do not, since taking back is no edit.
Result<void> Transaction::check_may_change_staged() const {
  if (!state_->options.owner) return {};
  const Policy policy(state_->workspace->config);
  for (const auto& [path, entry] : state_->overlay.entries()) {
    if (entry.before == entry.now) continue;
    const Judgement judgement =
        policy.judge_write(path, staged_operation(entry), state_->options.agent);
    if (judgement.decision == Decision::kDeny) return refused_by(judgement);
  }
  return {};
}

/// Of a stored transaction only: one in memory is nobody else's business until it is committed.
Result<void> Transaction::record(AuditEvent event) const {
  if (!state_->stage || state_->workspace->audit == nullptr) return {};
  event.tx = state_->id;
  event.execution_id = "exec-" + random_hex(kExecutionDigits);
  GALLEY_TRY(state_->workspace->audit->append(event));
  return {};
}

Result<void> Transaction::drop_stage() {
  state_->own_runner.reset();  // its layers lie in the stage
  if (!state_->stage) return {};
  StoredStage stage = *std::exchange(state_->stage, std::nullopt);
  GALLEY_TRY(drop_scratch_home(stage.directory()));
  return StoredStage::remove(*state_->workspace->state_directory, std::move(stage));
}

// --- stored transactions --------------------------------------------------------------------

const std::string& Transaction::id() const { return state_->id; }

Result<void> Transaction::save() {
  if (!state_->stage || state_->is_over) return {};
  // First who, then what: nothing is staged by somebody who is not judged with it.
  if (state_->options.owner && !restaged_paths(state_->owners, state_->overlay.entries()).empty()) {
    GALLEY_TRY(state_->stage->note_contributor(state_->options.agent));
  }
  GALLEY_TRY(state_->stage->note_reason(state_->reason));
  GALLEY_TRY(state_->stage->save(state_->overlay.entries()));
  state_->saved_version = state_->overlay.version();
  return {};
}

Result<const Directory*> Transaction::stage_directory() const {
  if (state_->stage && !state_->is_over) return &state_->stage->directory();
  return fail(ErrorKind::kUsage, "transaction.not_stored",
              "only a transaction begun with `galley begin` has savepoints and forks");
}

Result<void> Transaction::savepoint(const std::string& name) {
  GALLEY_ASSIGN(const Directory* stage, stage_directory());
  GALLEY_TRY(check_may_change_staged());
  return make_savepoint(*stage, name, state_->overlay.entries(), state_->workspace->clock());
}

Result<void> Transaction::rollback_to(const std::string& name) {
  GALLEY_ASSIGN(const Directory* stage, stage_directory());
  GALLEY_TRY(check_may_change_staged());
  GALLEY_ASSIGN(Overlay::Entries entries, entries_at_savepoint(*stage, name));
  AuditEvent event = own_event("rollback", state_->options);
  event.reason = "to " + name;
  GALLEY_TRY(record(std::move(event)));
  state_->overlay.restore(std::move(entries));
  GALLEY_TRY(save());
  return drop_savepoints_after(*stage, name);
}

Result<Transaction> Transaction::fork() {
  GALLEY_TRY(stage_directory());
  GALLEY_TRY(check_may_change_staged());
  if (state_->saved_version != state_->overlay.version()) GALLEY_TRY(save());
  WorkspaceState& workspace = *state_->workspace;
  // A fork of somebody else's stays theirs: else it would be judged without them.
  const StageAbout about{state_->stage->about().agent, state_->options.message,
                         workspace.clock().wall_ns(), state_->options.has_markers};
  GALLEY_ASSIGN(StoredStage child, state_->stage->fork(*workspace.state_directory, about));
  auto state = std::make_unique<State>(workspace, child.contents(), state_->options);
  state->owners = state_->owners;
  state->overlay.share(state_->overlay);
  state->saved_version = state->overlay.version();
  state->id = child.id();
  state->stage = std::move(child);
  return Transaction(std::move(state));
}

Result<RebaseOutcome> Transaction::stage_with_markers(const Proposal& proposal) {
  GALLEY_TRY(stage_directory());
  RebaseOptions options;
  options.mode = MergeMode::kMarkers;
  const WorkspaceState& workspace = *state_->workspace;
  GALLEY_ASSIGN(RebaseOutcome outcome,
                rebase(proposal, *workspace.root, workspace.clock(), options));
  const auto* fits = std::get_if<Rebased>(&outcome);
  if (fits == nullptr) return outcome;
  // First the note, then what it is about: markers are never staged without it.
  GALLEY_TRY(state_->stage->note_markers());
  state_->options.has_markers = true;
  state_->overlay.restore({});
  GALLEY_TRY(stage_proposal(fits->proposal, state_->overlay));
  GALLEY_TRY(save());
  return outcome;
}

const TransactionOptions& Transaction::options() const { return state_->options; }

Result<CommandResult> Transaction::run(const Command& command) {
  const Overlay::Entries before = state_->overlay.entries();
  auto result = state_->runner()->run(command, state_->overlay);
  AuditEvent event = own_event("call", state_->options);
  event.tool = "exec";
  event.input = std::make_shared<const nlohmann::ordered_json>(
      nlohmann::ordered_json{{"argv", command.argv}});
  if (result) {
    nlohmann::ordered_json output = {{"staged", result->effects_staged},
                                     {"staged_paths", result->staged_paths}};
    if (result->exit_code) output["exit_code"] = *result->exit_code;
    if (result->exit_signal) output["signal"] = *result->exit_signal;
    event.output = std::make_shared<const nlohmann::ordered_json>(std::move(output));
    event.duration_ms = std::chrono::duration_cast<std::chrono::milliseconds>(result->wall).count();
  } else {
    event.error = tool_error_from(result.error());
  }
  if (const auto recorded = record(std::move(event)); !recorded) {
    state_->overlay.restore(before);
    return fail(recorded.error());
  }
  return result;
}

Result<Transaction> Workspace::begin(const TransactionOptions& options) {
  return Transaction(std::make_unique<Transaction::State>(*state_, make_memory_store(), options));
}

Result<Transaction> Workspace::begin_stored(const TransactionOptions& options) {
  GALLEY_TRY(state_->need_state());
  const StageAbout about{options.agent, options.message, state_->clock().wall_ns()};
  GALLEY_ASSIGN(StoredStage stage, StoredStage::create(*state_->state_directory, about));
  return Transaction::of_stage(*state_, std::move(stage), options.agent);
}

Result<Transaction> Transaction::of_stage(WorkspaceState& workspace, StoredStage stage,
                                          const std::string& caller, const std::string& reason) {
  const StageAbout& about = stage.about();
  TransactionOptions options{caller, reason.empty() ? about.message : reason, about.has_markers};
  if (!is_own(about, caller)) options.owner = about.agent;
  options.contributors = about.contributors;
  auto state = std::make_unique<State>(workspace, stage.contents(), std::move(options));
  GALLEY_ASSIGN(Overlay::Entries entries, stage.load());
  if (state->options.owner) state->owners = entries;
  state->overlay.restore(std::move(entries));
  state->saved_version = state->overlay.version();
  state->id = stage.id();
  state->reason = reason;
  state->stage = std::move(stage);
  return Transaction(std::move(state));
}

}  // namespace galley
