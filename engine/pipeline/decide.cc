#include "engine/pipeline/decide.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/contains.h"
#include "base/encoding.h"
#include "base/text.h"
#include "engine/calls/early_policy.h"
#include "engine/calls/executor.h"
#include "engine/commit/branch_publisher.h"
#include "engine/commit/history_reader.h"
#include "engine/commit/writer_lock.h"
#include "engine/history/rebase.h"
#include "engine/history/undo.h"
#include "engine/pipeline/agent_session.h"
#include "engine/pipeline/approvals.h"
#include "engine/pipeline/rules.h"
#include "engine/pipeline/shown_changes.h"
#include "engine/pipeline/workspace_state.h"
#include "engine/policy/verdict_file.h"
#include "engine/stages/live_views.h"
#include "engine/validators/factory.h"
#include "staging/git/git_branch.h"
#include "staging/sandbox/command_runner.h"
#include "staging/sandbox/host_process.h"

namespace galley {
namespace {

/// The two commands before and after the apply step of a commit, for example to pause a watcher.
struct ApplyHooks {
  std::function<void()> before;  ///< empty without a hook
  std::function<void()> after;
};

/// After so many lost races, a commit judges and publishes under the writer lock, if it was judged
/// within this time before. It gives the lock back while a person is asked.
constexpr int kRacesWithoutLock = 3;
constexpr std::chrono::milliseconds kMaxJudgedUnderLock(1000);

using HookCommand = std::vector<std::string>;

Result<int> run_on_host(const HookCommand& command, const std::string& root,
                        std::chrono::milliseconds time) {
  GALLEY_TRY(check_outside(command, root));
  HostProcessOptions options;
  options.directory = "/";
  options.environment = {"GALLEY_WORKSPACE=" + root};
  options.output_is_complaint = true;  // the output has the answer, or messages of a protocol
  options.time = time;
  GALLEY_ASSIGN(const auto process, HostProcess::start(command, options));
  auto status = process->wait();
  if (!status && status.error().kind == ErrorKind::kTimeout) {
    status.error().message += "; commit.hook_timeout_ms of your own configuration is its limit";
  }
  return status;
}

Result<int> run_in_sandbox(const HookCommand& hook, WorkspaceState& workspace) {
  Overlay unchanged(workspace.place.files(), make_memory_store(), workspace.place.clock());
  Command command;
  command.argv = hook;
  command.effects = EffectsRule::kDrop;
  GALLEY_ASSIGN(const CommandResult result,
                workspace.tools.runner_for("")->run(command, unchanged));
  if (result.breach) return fail(result.breach->error());
  return result.exit_code.value_or(kSignalStatusBase + result.exit_signal.value_or(0));
}

void tell(const HookCommand& command, const Result<int>& status,
          std::vector<std::string>& failures) {
  if (!status) {
    failures.push_back("the hook " + command.front() + ": " + status.error().message);
  } else if (*status != 0) {
    failures.push_back("the hook " + command.front() + " ended with " + std::to_string(*status));
  }
}

/// Makes the hooks of a commit. Hooks of a trusted galley.toml run in the sandbox, and their
/// effects are dropped. Hooks of the person's own configuration run on the host, in `/`, with
/// GALLEY_WORKSPACE set. They must not name a file inside the workspace, because any agent could
/// change that file.
///
/// A hook cannot change the outcome of a commit. Its failure is added to `failures`.
///
/// Ownership: borrows both arguments.
ApplyHooks apply_hooks(WorkspaceState& workspace, std::vector<std::string>& failures) {
  const UserConfig& user = workspace.rules.user.config;
  const std::chrono::milliseconds time(user.hook_timeout_ms);
  const auto hook = [&](const HookCommand& own, const HookCommand& of_workspace) {
    if (own.empty() && of_workspace.empty()) return std::function<void()>();
    return std::function<void()>([&workspace, &failures, own, of_workspace, time] {
      if (!own.empty()) tell(own, run_on_host(own, workspace.place.path, time), failures);
      if (of_workspace.empty()) return;
      tell(of_workspace, run_in_sandbox(of_workspace, workspace), failures);
    });
  };
  const CommitConfig& commit = workspace.rules.config.commit;
  return {hook(user.before_apply, commit.before_apply), hook(user.after_apply, commit.after_apply)};
}

JsonDocument summary_of(const Proposal& proposal, const CommitRequest& request) {
  auto summary = std::make_shared<nlohmann::ordered_json>();
  (*summary)["proposal"] = proposal.id().hex();
  (*summary)["changes"] = proposal.changes().size();
  if (request.undoes) (*summary)["undoes"] = request.undoes->str();
  return summary;
}

/// One attempt to commit, with the inputs of its records and steps.
struct Attempt {
  WorkspaceState& workspace;
  const TransactionOptions& who;
  const CommitRequest& request;
  Recorder& recorder;
  const CommitNumber& on_number;
  std::optional<WriterLock> lock = {};                  ///< if it is held while judging
  std::chrono::steady_clock::duration judged_for = {};  ///< by the last gate

  [[nodiscard]] const std::string& session() const {
    return who.session.empty() ? workspace.options.session : who.session;
  }
};

AuditEvent event_of(AuditKind kind, const Proposal& proposal, const Attempt& attempt) {
  AuditEvent event;
  event.kind = kind;
  event.tool = attempt.request.tool;
  event.call_id = attempt.request.call_id;
  event.agent = attempt.who.agent;
  event.session_id = attempt.session();
  event.owner = attempt.who.owner;
  event.reason = attempt.who.message;
  event.rules = attempt.workspace.rules.config.other_file;
  event.proposal = proposal.id().hex();
  event.input = summary_of(proposal, attempt.request);
  return event;
}

AuditEvent refusal_event(const Preview& preview, const Attempt& attempt) {
  const Refusal& refusal = std::get<Refusal>(preview.verdict.decision);
  AuditEvent event = event_of(AuditKind::kRefusal, preview.proposal, attempt);
  event.error = ToolError{ToolErrorCode::kPermission, refusal.reason, refusal.message, {}};
  return event;
}

Result<void> record_refusal(const Preview& preview, const Attempt& attempt) {
  GALLEY_TRY(attempt.workspace.persistent.ensure());
  return attempt.recorder.record_now(refusal_event(preview, attempt));
}

Result<void> record_conflict(const Proposal& proposal, const Conflict& conflict,
                             const Attempt& attempt) {
  AuditEvent event = event_of(AuditKind::kConflict, proposal, attempt);
  const std::string message = conflict.paths.empty() ? "" : conflict.paths.front().message;
  event.error = ToolError{ToolErrorCode::kRuntime, conflict.reason, message, {}};
  return attempt.recorder.record_now(std::move(event));
}

/// The hash of the verdict on a proposal to a branch. The audit record and the commit of git have
/// it, so that each can be compared with the other.
Result<std::string> verdict_hash(const Preview& preview, const std::string& tree) {
  JudgedSubject subject;
  subject.proposal = preview.proposal.id();
  subject.tree = tree;
  GALLEY_ASSIGN(const std::string text, verdict_file(subject, preview.verdict, 0));
  return ContentId::of(text).hex();
}

/// Returns the records of the commit. They are stored in the journal, so that commit and records
/// become durable together. Records that were held until now are written to the log first.
Result<std::vector<std::string>> commit_records(const Preview& preview, const Attempt& attempt,
                                                TxId id, const JudgedTree& judged) {
  GALLEY_TRY(attempt.recorder.write_held());
  const int64_t now = attempt.workspace.place.clock().wall_ns();
  AuditEvent event = event_of(kind_of(attempt.request), preview.proposal, attempt);
  // The time makes the id unique: a second attempt with the same proposal gets another one.
  event.execution_id = "commit-" + preview.proposal.id().hex() + "-" + std::to_string(now);
  event.tx = id.str();
  event.open_tx = attempt.recorder.tx();
  auto summary = std::make_shared<nlohmann::ordered_json>(*event.input);
  // So that readers of the log know how far back its calls are.
  if (event.kind == AuditKind::kCommit) {
    (*summary)["begun"] = rfc3339_utc(attempt.recorder.begun_ns());
  }
  if (!preview.verdict.approved_by.empty()) {
    (*summary)["approved_by"] = preview.verdict.approved_by;
  }
  if (!judged.verdict.empty()) {
    (*summary)["judged_on"] = judged.tip.commit;
    (*summary)["verdict"] = judged.verdict;
  }
  event.input = std::move(summary);
  return std::vector<std::string>{audit_record(event, now)};
}

/// Returns the configuration for this transaction. If conflict markers were staged in it, they are
/// looked for, whatever galley.toml says.
Config config_for(const Config& config, const TransactionOptions& who) {
  constexpr const char* kMarkers = "conflict_markers";
  Config held = config;
  const bool is_looked_for =
      std::ranges::any_of(config.validators, [&](const ValidatorConfig& validator) {
        return validator.builtin == kMarkers && validator.severity == Severity::kError &&
               !validator.has_paths && validator.agents.empty();
      });
  if (!who.has_markers || is_looked_for) return held;
  ValidatorConfig markers;
  markers.name = markers.builtin = kMarkers;
  held.validators.push_back(std::move(markers));
  return held;
}

/// Limits are checked before rules. Rules cannot override them.
Result<void> check_limits(const LimitsConfig& limits, const Proposal& proposal) {
  for (const Change& change : proposal.changes()) {
    GALLEY_TRY(check_file_size(limits, change.path, change.before, change.after));
  }
  return {};
}

Verdict refuse_configuration(const Error& flaw) {
  Finding finding;
  finding.rule = flaw.reason;
  finding.message = flaw.message;
  finding.remedy = "correct the proposed galley.toml; `galley help KEY` explains a key";
  return Verdict{Refusal{"gate.bad_configuration",
                         "the proposed galley.toml cannot be read, and every command after it "
                         "would stop there: " +
                             flaw.message},
                 {std::move(finding)},
                 {},
                 {}};
}

}  // namespace

Result<Verdict> verdict_on(const JudgementBasis& basis, const Proposal& proposal,
                           const TransactionOptions& who, JudgeOptions options) {
  GALLEY_TRY(check_limits(basis.config.limits, proposal));
  const Config config = config_for(basis.config, who);
  const Directory& rules = basis.rules == nullptr ? basis.base : *basis.rules;
  GALLEY_ASSIGN(auto validators, make_validators(config, rules, basis.runner, basis.cache));
  Gate gate(config, std::move(validators), std::move(options.approver), basis.clock);
  options.gate.who = who.principals();
  if (who.stop.stop_possible()) options.gate.stop = who.stop;
  ProposedTree tree(proposal, basis.base, basis.root_path);
  tree.set_base_name(basis.base_name);
  tree.set_rules(rules);
  tree.set_returned_links(basis.returned_links);
  // If galley.toml must not be changed, the rules refuse it with a better message.
  if (config.configuration_is_editable) {
    GALLEY_ASSIGN(const auto flaw, proposed_configuration_flaw(tree));
    if (flaw) return refuse_configuration(*flaw);
  }
  return gate.judge(tree, options.gate);
}

namespace {

/// Drops each link whose path was changed, since it was removed, by a transaction of another caller
/// or by one that stays in effect.
Result<void> keep_own_removals(const History& history, const TransactionOptions& who, TxId first,
                               std::map<RelPath, TxId>& links) {
  GALLEY_ASSIGN(const auto ids, history.ids());
  for (const TxId id : ids) {
    if (id < first) continue;
    const auto transaction = history.outline(id);
    if (!transaction && transaction.error().kind == ErrorKind::kNotFound) continue;  // pruned
    if (!transaction) return fail(transaction.error());
    const bool is_taken_back = contains(who.takes_back, id);
    if (is_taken_back && (*transaction)->journal.meta.agent == who.agent) continue;
    for (const Change& change : (*transaction)->changes) {
      const auto link = links.find(change.path);
      if (link != links.end() && link->second <= id) links.erase(link);
    }
  }
  return {};
}

/// Paths of a proposal that get back what they had before a transaction that it takes back.
struct ReturnedPaths {
  std::vector<RelPath> links;     ///< an agent brings back only those that it removed itself
  std::vector<RelPath> accepted;  ///< as GateRequest::accepted
};

Result<ReturnedPaths> returned_paths(WorkspaceState& workspace, const Proposal& proposal,
                                     const TransactionOptions& who) {
  ReturnedPaths paths;
  std::map<RelPath, TxId> links;  // with the first such transaction
  TxId first;
  if (who.takes_back.empty()) return paths;
  GALLEY_ASSIGN(const History history, workspace.persistent.history("undo"));
  for (const TxId id : who.takes_back) {
    const auto transaction = history.outline(id);
    if (!transaction && transaction.error().kind == ErrorKind::kNotFound) continue;  // pruned
    if (!transaction) return fail(transaction.error());
    for (const Change& earlier : (*transaction)->changes) {
      const Change* change = find_change(proposal.changes(), earlier.path);
      const bool is_it = change != nullptr && change->after.kind == earlier.before.kind &&
                         change->after.content == earlier.before.content;
      const bool is_whole = is_it && change->after == earlier.before;
      if (is_whole && who.accepts_returned) paths.accepted.push_back(earlier.path);
      if (!is_it || change->after.kind != FileKind::kSymlink) continue;
      TxId& removal = links.try_emplace(earlier.path, id).first->second;
      removal = std::min(removal, id);
      first = first.value == 0 ? id : std::min(first, id);
    }
  }
  if (!who.agent.empty() && !links.empty()) {
    GALLEY_TRY(keep_own_removals(history, who, first, links));
  }
  for (const auto& [path, removal] : links) paths.links.push_back(path);
  std::ranges::sort(paths.accepted);
  return paths;
}

}  // namespace

Result<Verdict> verdict_on(WorkspaceState& workspace, const Proposal& proposal,
                           const TransactionOptions& who, JudgeOptions options) {
  GALLEY_ASSIGN(ReturnedPaths returned, returned_paths(workspace, proposal, who));
  options.gate.accepted = std::move(returned.accepted);
  const JudgementBasis basis{workspace.rules.config,
                             workspace.place.files(),
                             workspace.place.path,
                             workspace.tools.runner_for(who.principals()),
                             workspace.tools.cache(),
                             workspace.place.clock(),
                             workspace.place.tree ? workspace.place.tree->name() : "",
                             nullptr,
                             std::move(returned.links)};
  return verdict_on(basis, proposal, who, std::move(options));
}

namespace {

struct Judged {
  Preview preview;
  bool uses_kept_approval = false;  ///< one of `galley approve`, which is good for one commit
};

Result<Judged> judge_with_approval(WorkspaceState& workspace, Proposal proposal,
                                   const TransactionOptions& who,
                                   const std::function<void(const GateProgress&)>& on_progress,
                                   Approver approver) {
  if (const auto fresh = workspace.rules.refresh_grants(workspace.persistent);
      !fresh && who.principals() != Principals()) {
    return fail(fresh.error());
  }
  if (const GitBranch* branch = workspace.place.branch()) {
    GALLEY_TRY(check_git_can_store(proposal.changes(), *branch));
  }
  JudgeOptions options{{}, std::move(approver)};
  options.gate.on_progress = on_progress;
  std::optional<GivenApproval> given;
  if (workspace.persistent.state() != nullptr) {
    GALLEY_ASSIGN(given, find_approval(*workspace.persistent.state(), proposal.id(),
                                       workspace.place.clock().wall_ns()));
  }
  if (given) {
    options.gate.approved.push_back(proposal.id());
    options.gate.approved_by = given->by;
  }
  GALLEY_ASSIGN(Verdict verdict, verdict_on(workspace, proposal, who, std::move(options)));
  const bool is_used = given && !verdict.approved_by.empty();
  if (is_used) verdict.approved_by = join(given->by);
  return Judged{Preview{std::move(proposal), std::move(verdict)}, is_used};
}

}  // namespace

Result<Preview> judge(WorkspaceState& workspace, Proposal proposal, const TransactionOptions& who,
                      const std::function<void(const GateProgress&)>& on_progress) {
  return judge_with_approval(workspace, std::move(proposal), who, on_progress,
                             workspace.options.approver)
      .map([](Judged&& judged) { return std::move(judged.preview); });
}

namespace {

/// Another process may have committed the same proposal, with the same approval, while this one
/// waited for its validators or for the lock.
Result<void> check_kept_approval(const WorkspaceState& workspace, const Proposal& proposal) {
  GALLEY_ASSIGN(const auto given, find_approval(*workspace.persistent.state(), proposal.id(),
                                                workspace.place.clock().wall_ns()));
  if (given) return {};
  return fail(
      ErrorKind::kRefused, "approval.used",
      "the approval of this proposal was used by another commit meanwhile; approve it again "
      "with: galley approve");
}

Result<PublishOutcome> publish(const Judged& judgement, const Approval& approval, Attempt& attempt,
                               const JudgedTree& judged) {
  const Preview& preview = judgement.preview;
  WorkspaceState& workspace = attempt.workspace;
  PublisherOptions options;
  options.records = [&](TxId id) -> Result<std::vector<std::string>> {
    if (judgement.uses_kept_approval) {
      GALLEY_TRY(check_kept_approval(workspace, preview.proposal));
    }
    if (attempt.on_number) GALLEY_TRY(attempt.on_number(id, preview.proposal));
    return commit_records(preview, attempt, id, judged);
  };
  options.pin_views = [&](const ChangeSet& changes) {
    return pin_live_views(*workspace.persistent.state(), changes);
  };
  std::vector<std::string> hook_failures;
  options.is_in_place = attempt.request.is_in_place;
  options.stop = attempt.who.stop;
  options.lock = attempt.lock ? &*attempt.lock : nullptr;
  if (workspace.place.branch() == nullptr) {
    ApplyHooks hooks = apply_hooks(workspace, hook_failures);
    options.before_apply = std::move(hooks.before);
    options.after_apply = std::move(hooks.after);
  }
  CommitMeta meta{
      attempt.who.agent, attempt.request.tool, attempt.who.message, attempt.request.undoes, {},
      attempt.who.owner};
  meta.session = attempt.session();
  meta.also_undoes = attempt.request.also_undoes;
  if (!meta.session.empty()) {
    AgentSession::Turn turn = AgentSession(*workspace.persistent.state(), meta.session).turn();
    if (!turn.has_ended) {
      meta.turn = turn.number;
      meta.prompt = std::move(turn.prompt);
    }
  }
  GALLEY_ASSIGN(
      PublishOutcome outcome,
      workspace.persistent.publish(preview.proposal, approval, meta, std::move(options), judged));
  if (auto* receipt = std::get_if<Receipt>(&outcome)) {
    receipt->warnings.insert(receipt->warnings.end(), hook_failures.begin(), hook_failures.end());
  }
  return outcome;
}

/// One attempt: judges the proposal, and publishes it if the gate approves.
Result<CommitOutcome::Base> try_once(const Proposal& proposal, Attempt& attempt) {
  if (proposal.is_empty()) return CommitOutcome::Base(NothingToCommit{});
  WorkspaceState& workspace = attempt.workspace;
  GALLEY_ASSIGN(JudgedTree judged, follow_branch(workspace));
  Approver approver = workspace.options.approver;
  if (approver && attempt.lock) {
    // No other commit waits for a person.
    approver = [&](const ApprovalQuestion& question) {
      attempt.lock.reset();
      return workspace.options.approver(question);
    };
  }
  const auto began = workspace.place.clock().steady();
  GALLEY_ASSIGN(Judged judgement,
                judge_with_approval(workspace, proposal, attempt.who, attempt.request.on_progress,
                                    std::move(approver)));
  attempt.judged_for = workspace.place.clock().steady() - began;
  Preview& preview = judgement.preview;
  const auto* approval = std::get_if<Approval>(&preview.verdict.decision);
  if (approval == nullptr) {
    GALLEY_TRY(record_refusal(preview, attempt));
    return CommitOutcome::Base(Refused{std::move(preview)});
  }
  if (attempt.who.stop.stop_requested()) return fail(judging_cancelled());
  GALLEY_TRY(workspace.persistent.ensure());
  if (workspace.place.branch() != nullptr) {
    GALLEY_ASSIGN(judged.verdict, verdict_hash(preview, judged.tip.tree));
  }
  GALLEY_ASSIGN(PublishOutcome outcome, publish(judgement, *approval, attempt, judged));
  if (auto* conflict = std::get_if<Conflict>(&outcome)) {
    GALLEY_TRY(record_conflict(preview.proposal, *conflict, attempt));
    return CommitOutcome::Base(std::move(*conflict));
  }
  Receipt receipt = std::get<Receipt>(std::move(outcome));
  for (const Finding& finding : preview.verdict.findings) {
    if (finding.suppression != kReturnedSuppression) continue;
    const std::string line = finding.line == 0 ? "" : fmt::format(":{}", finding.line);
    const std::string place = finding.path.empty() ? "" : finding.path + line + ": ";
    receipt.warnings.push_back(
        fmt::format("{}{} [{}]: accepted, because the undo brings back only earlier content", place,
                    finding.message, finding.rule));
  }
  if (const auto used = drop_approval(*workspace.persistent.state(), preview.proposal.id());
      !used) {
    receipt.warnings.push_back("the approval stays: " + used.error().message);
  }
  return CommitOutcome::Base(std::move(receipt));
}

/// A reviewed proposal is committed unchanged or not at all. Other proposals may be merged, except
/// with serializable isolation: there the proposal depends on the contents that were read.
bool may_merge(const WorkspaceState& workspace, const CommitRequest& request) {
  return !request.expected && !request.is_in_place &&
         workspace.rules.config.commit.isolation == Isolation::kSnapshot &&
         workspace.rules.config.commit.on_conflict == OnConflict::kMerge;
}

/// Adds the changes of both sides to a conflict, as far as they are known and the caller may read
/// them.
void show_both_sides(Conflict& conflict, const Proposal& proposal, const WorkspaceState& workspace,
                     const std::string& agent) {
  for (const MergeMode mode : {MergeMode::kLines, MergeMode::kExact}) {
    RebaseOptions options;
    options.mode = mode;
    const auto rebased =
        rebase(proposal, workspace.place.files(), workspace.place.clock(), options);
    const auto* misfits = rebased ? std::get_if<RebaseConflict>(&*rebased) : nullptr;
    if (misfits == nullptr) continue;
    for (const PathConflict& misfit : misfits->paths) {
      for (ConflictPath& path : conflict.paths) {
        if (path.path != misfit.path || !path.diff.empty()) continue;
        path.diff = misfit.diff;
        path.hunks = misfit.hunks;
      }
    }
  }
  for (ConflictPath& path : conflict.paths) {
    hide_unread_texts(agent, workspace.rules.config, path);
  }
}

/// Removes the paths that could be merged on their own, since they did not cause the conflict.
/// Conflicts below a directory that both sides created are found only by merging.
void keep_misfits(Conflict& conflict, const RebaseConflict& misfits) {
  std::vector<ConflictPath> kept;
  for (const PathConflict& misfit : misfits.paths) {
    const auto known = std::ranges::find(conflict.paths, misfit.path, &ConflictPath::path);
    kept.push_back(known != conflict.paths.end() ? *known : ConflictPath(misfit));
  }
  conflict.paths = std::move(kept);
}

/// Merges a proposal with the present files. If it does not fit, returns nothing and reduces
/// `conflict` to its causes, with both sides.
Result<std::optional<Rebased>> merge_or_explain(const Proposal& proposal, Conflict& conflict,
                                                const WorkspaceState& workspace,
                                                const std::string& agent) {
  GALLEY_ASSIGN(RebaseOutcome rebased,
                rebase(proposal, workspace.place.files(), workspace.place.clock()));
  if (auto* fits = std::get_if<Rebased>(&rebased)) return std::optional(std::move(*fits));
  keep_misfits(conflict, std::get<RebaseConflict>(rebased));
  show_both_sides(conflict, proposal, workspace, agent);
  return std::optional<Rebased>();
}

}  // namespace

Result<JudgedTree> follow_branch(const WorkspaceState& workspace) {
  JudgedTree judged;
  const GitBranch* branch = workspace.place.branch();
  if (branch == nullptr) return judged;
  GALLEY_ASSIGN(judged.tip, branch->follow());
  if (!workspace.options.config_file.empty()) return judged;
  GALLEY_ASSIGN(const std::string rules, branch->id_of(RelPath::parse(kConfigFileName).value()));
  if (rules == workspace.place.tree->rules) return judged;
  return fail(ErrorKind::kConflict, "config.changed_on_branch",
              "galley.toml of the branch changed since the workspace was opened, so nothing was "
              "judged: repeat the command",
              std::string(kConfigFileName));
}

Result<CommitOutlook> look_ahead(WorkspaceState& workspace, const Proposal& proposal,
                                 const TransactionOptions& who, const CommitRequest& request) {
  CommitOutlook outlook;
  GALLEY_TRY(follow_branch(workspace));
  GALLEY_ASSIGN(outlook.conflict, workspace.persistent.find_conflict(proposal));
  if (!outlook.conflict) return outlook;
  if (!may_merge(workspace, request)) {
    show_both_sides(*outlook.conflict, proposal, workspace, who.agent);
    return outlook;
  }
  GALLEY_ASSIGN(auto fits, merge_or_explain(proposal, *outlook.conflict, workspace, who.agent));
  if (!fits) return outlook;
  outlook.conflict.reset();
  GALLEY_ASSIGN(outlook.merged, judge(workspace, std::move(fits->proposal), who, {}));
  return outlook;
}

Result<void> perform_outside_transaction(const Rules& rules, const TransactionOptions& who,
                                         Recorder& recorder, Action action, const Effect& effect) {
  ExecutorOptions options;
  options.agent = who.agent;
  options.owner = who.owner;
  options.reason = who.message;
  options.policy.emplace(rules.config, who.principals(), nullptr);
  Executor executor(nullptr, recorder, recorder.clock(), std::move(options));
  return executor.perform(nullptr, std::move(action), effect);
}

Result<void> record_refused_look(const Workspace& workspace, const Preview& preview,
                                 const TransactionOptions& who, const std::string& tool) {
  if (preview.verdict.is_approved()) return {};
  constexpr size_t kDigits = 12;
  CommitRequest request;
  request.tool = tool;
  Recorder recorder = persistent_of(workspace).recorder(RecordTime::kAtOnce, random_hex(kDigits));
  const CommitNumber nobody;
  const Attempt attempt{WorkspaceAccess::of(workspace), who, request, recorder, nobody};
  return recorder.record_now(refusal_event(preview, attempt));
}

AuditKind kind_of(const CommitRequest& request) {
  if (request.tool == kRedoTool || request.tool == kPartialRedoTool) return AuditKind::kRedo;
  return request.undoes ? AuditKind::kUndo : AuditKind::kCommit;
}

Result<CommitOutcome> decide_and_publish(WorkspaceState& workspace, const Proposal& asked,
                                         const TransactionOptions& who,
                                         const CommitRequest& request, Recorder& recorder,
                                         const CommitNumber& on_number) {
  GALLEY_TRY(workspace.persistent.check_trusted());
  if (request.expected && *request.expected != asked.id()) {
    return fail(ErrorKind::kConflict, "commit.not_what_was_reviewed",
                "what is proposed now is " + asked.id().hex() + ", not the reviewed " +
                    request.expected->hex() + "; look at the diff again");
  }
  TransactionOptions stopped = who;
  if (request.stop.stop_possible()) stopped.stop = request.stop;
  Attempt attempt{workspace, stopped, request, recorder, on_number};
  GALLEY_TRY(check_session_id(attempt.session()));
  Proposal proposal = asked;
  std::vector<std::string> warnings;
  for (int merges = 0;; ++merges) {
    GALLEY_ASSIGN(CommitOutcome::Base outcome, try_once(proposal, attempt));
    if (auto* receipt = std::get_if<Receipt>(&outcome)) {
      receipt->warnings.insert(receipt->warnings.end(), warnings.begin(), warnings.end());
    }
    auto* conflict = std::get_if<Conflict>(&outcome);
    if (conflict == nullptr) return CommitOutcome(std::move(proposal), std::move(outcome));
    // A file of another program that went to rescue is no longer at its path. The next attempt
    // would commit over it, because the path looks unchanged.
    const bool has_moved_others = !conflict->warnings.empty();
    // Warnings of this attempt are reported with the result of the next ones.
    warnings.insert(warnings.end(), conflict->warnings.begin(), conflict->warnings.end());
    conflict->warnings = warnings;
    // Then the gate has to judge again, even if the proposal itself stays as it is.
    const bool is_behind = conflict->reason == kBranchMoved;
    const bool may_change = may_merge(workspace, request);
    if (has_moved_others || merges >= kMaxMerges || !(may_change || is_behind)) {
      show_both_sides(*conflict, proposal, workspace, who.agent);
      return CommitOutcome(asked, std::move(outcome));
    }
    // Others that commit as often would win each race again. They wait for a quick gate.
    const bool takes_lock =
        merges + 1 >= kRacesWithoutLock && attempt.judged_for < kMaxJudgedUnderLock;
    if (!takes_lock) attempt.lock.reset();
    if (takes_lock && !attempt.lock) {
      GALLEY_ASSIGN(attempt.lock, workspace.persistent.lock());
    }
    if (is_behind) GALLEY_TRY(follow_branch(workspace));
    GALLEY_ASSIGN(auto fits, merge_or_explain(proposal, *conflict, workspace, who.agent));
    if (!fits) return CommitOutcome(asked, std::move(outcome));
    if (is_behind && fits->proposal.id() == proposal.id()) continue;  // keeps what it read
    if (!may_change) return CommitOutcome(asked, std::move(outcome));
    for (const MergedPath& path : fits->merged) {
      warnings.push_back(path.path.str() + " changed on disk meanwhile: " + path.how);
    }
    proposal = std::move(fits->proposal);
  }
}

}  // namespace galley
