#include <galley/workspace.h>

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "engine/audit/recorder.h"
#include "engine/calls/action.h"
#include "engine/calls/tool_names.h"
#include "engine/commit/outcome.h"
#include "engine/pipeline/agent_session.h"
#include "engine/pipeline/approvals.h"
#include "engine/pipeline/decide.h"
#include "engine/pipeline/place.h"
#include "engine/pipeline/workspace_state.h"
#include "staging/fs/disk_directory.h"
#include "staging/fs/host_file.h"

namespace galley {

WorkspaceState::WorkspaceState(Place found, UserSettings user,
                               std::unique_ptr<WritableDirectory> files, WorkspaceOptions given)
    : place(std::move(found)),
      persistent(place, rules, std::move(files)),
      tools(place, rules, persistent, given),
      options(std::move(given)) {
  rules.user = std::move(user);
}

Workspace::Workspace(std::unique_ptr<WorkspaceState> state) : state_(std::move(state)) {}
Workspace::~Workspace() = default;

Result<std::unique_ptr<Workspace>> Workspace::open(const std::string& path,
                                                   WorkspaceOptions options) {
  auto start = absolute_path(path);
  if (!start) {
    return fail(ErrorKind::kUsage, "workspace.not_found",
                "there is no directory '" + path + "' to work in", path);
  }
  UserSettings user;
  if (options.user != nullptr) {
    user = *options.user;
  } else if (options.uses_personal_settings) {
    GALLEY_ASSIGN(user, load_user_settings());
  }
  user.trusts_workspaces |= options.trusts_configuration;
  GALLEY_TRY(check_session_id(options.session));
  FoundRoot found{*start, {}};
  if (options.tree == nullptr) {
    GALLEY_ASSIGN(found, find_root(*start, user.config));
  }
  // Anyone who edits in the workspace could have written it, and with it hooks for the host.
  if (is_at_or_below(user.config_path, found.path)) user.config = UserConfig();
  std::unique_ptr<WritableDirectory> files;
  std::string home = found.path;
  if (options.tree != nullptr && options.tree->branch != nullptr) {
    home = home_of_branch(*options.tree->branch);
  } else {
    GALLEY_ASSIGN(files, open_writable_disk_directory(found.path));
  }
  auto state = std::make_unique<WorkspaceState>(
      Place{std::move(found.path), std::move(home), files.get(), options.tree, options.clock},
      std::move(user), std::move(files), std::move(options));
  state->notices = std::move(found.notices);
  const auto tell = [&](std::vector<std::string> lines) {
    std::move(lines.begin(), lines.end(), std::back_inserter(state->notices));
  };
  GALLEY_ASSIGN(auto untrusted, state->rules.read(state->place, state->options));
  tell(std::move(untrusted));
  // Before recovery, because a tool that cannot be used is an error of the caller.
  GALLEY_TRY(state->tools.check_given());
  GALLEY_ASSIGN(auto unknown, state->tools.unknown_tools());
  tell(std::move(unknown));
  GALLEY_ASSIGN(auto repairs, state->persistent.open(state->options.recovers));
  tell(std::move(repairs));
  // Unreadable grants deny agents everything. A person can still open the workspace to repair it.
  if (const auto read = state->rules.refresh_grants(state->persistent); !read) {
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
  Recorder recorder = state_->persistent.recorder();
  Action action;
  action.record.kind = kind_of(request);
  action.record.tool = request.tool;
  action.record.proposal = proposal.id().hex();
  action.tools = tools_with_effect(ToolEffect::kChange);
  action.records_itself = true;
  std::optional<CommitOutcome> outcome;
  const auto passed = perform_outside_transaction(
      state_->rules, who, recorder, std::move(action), [&](AuditEvent&) -> Result<void> {
        GALLEY_ASSIGN(outcome, decide_and_publish(*state_, proposal, who, request, recorder));
        return {};
      });
  GALLEY_TRY(passed);
  return *std::move(outcome);
}

Result<void> Workspace::approve(const ContentId& proposal, const std::string& by,
                                const TransactionOptions& who) {
  GALLEY_TRY(state_->persistent.ensure());
  Recorder recorder = state_->persistent.recorder();
  Action action;
  action.record.kind = AuditKind::kApproval;
  action.record.tool = "approve";
  action.record.proposal = proposal.hex();
  action.record.reason = "given beforehand by " + by;
  const auto passed = perform_outside_transaction(
      state_->rules, who, recorder, std::move(action), [&](AuditEvent&) -> Result<void> {
        if (who.agent.empty()) return {};
        return fail(ErrorKind::kRefused, "approval.by_agent",
                    "only a person may approve: leave out --agent");
      });
  GALLEY_TRY(passed);
  return keep_approval(*state_->persistent.state(), proposal, by, state_->place.clock().wall_ns());
}

Result<Workspace::Push> Workspace::push(const std::string& remote, const TransactionOptions& who,
                                        const std::string& expected) {
  const GitBranch* branch = state_->place.branch();
  if (branch == nullptr) {
    return fail(ErrorKind::kUsage, "push.no_branch",
                "only a branch can be pushed: galley --repo DIR --ref BRANCH push REMOTE");
  }
  GALLEY_TRY(state_->persistent.ensure());
  Recorder recorder = state_->persistent.recorder();
  Action action;
  action.record.kind = AuditKind::kPush;
  action.record.tool = "push";
  const auto there = who.agent.empty()
                         ? branch->remote(remote)
                         : Result<GitRemote>(fail(ErrorKind::kRefused, "push.by_agent",
                                                  "only a person may push: leave out --agent"));
  action.record.reason = branch->name() + (there ? " to " + there->shown() : std::string());
  action.runs_program = true;
  GitPush pushed;
  const auto push = [&](AuditEvent& record) -> Result<void> {
    if (!there) return fail(there.error());
    GALLEY_ASSIGN(pushed, branch->push(*there, expected));
    record.reason += ": " + pushed.to;
    return {};
  };
  GALLEY_TRY(perform_outside_transaction(state_->rules, who, recorder, std::move(action), push));
  return Push{branch->name(), pushed.address, pushed.from, pushed.to};
}

const Error* Workspace::state_distrust() const { return state_->persistent.doubt(); }

Result<void> Workspace::open_adopted_state() {
  Recorder recorder = state_->persistent.recorder();
  Action action;
  action.record.kind = AuditKind::kAdoption;
  action.record.tool = "recover";
  if (const Error* doubt = state_distrust()) action.record.reason = doubt->message;
  return perform_outside_transaction(
      state_->rules, {}, recorder, std::move(action), [&](AuditEvent&) -> Result<void> {
        GALLEY_ASSIGN(auto repairs, state_->persistent.open(true));
        std::move(repairs.begin(), repairs.end(), std::back_inserter(state_->notices));
        return state_->persistent.ensure();
      });
}

const std::string& Workspace::root_path() const { return state_->place.path; }
const Error* Workspace::configuration_flaw() const {
  return state_->rules.flaw ? &*state_->rules.flaw : nullptr;
}
const std::vector<std::string>& Workspace::notices() const { return state_->notices; }

}  // namespace galley
