#include "server/grpc/serving.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <variant>

#include "base/printable.h"
#include "base/text.h"
#include "engine/audit/recorded_calls.h"
#include "engine/commit/stage_directory.h"
#include "engine/pipeline/inner_transaction.h"
#include "engine/pipeline/shown_changes.h"
#include "engine/pipeline/workspace_state.h"
#include "engine/policy/policy.h"
#include "tools/json_input.h"

namespace galley {
namespace {

using aios::tools::ExecuteRequest;
using aios::tools::ExecuteResponse;
using aios::tools::ListToolsResponse;
using nlohmann::ordered_json;
using ToolMessage = aios::tools::ToolDefinition;

/// Fields of the type `string` must be UTF-8.
std::string field_text(const std::string& text) { return is_utf8(text) ? text : printable(text); }

ToolMessage message_of(const ToolShape& shape, const ToolInfo& info) {
  const ordered_json all = shape.definition(info);
  ToolMessage out;
  out.set_name(all.at("name").get<std::string>());
  out.set_namespace_(all.at("namespace").get<std::string>());
  out.set_version(all.at("version").get<std::string>());
  out.set_description(all.at("description").get<std::string>());
  out.set_input_schema(json_text(all.at("input_schema")));
  out.set_output_schema(json_text(all.at("output_schema")));
  for (const auto& one : all.at("required_capabilities")) {
    out.add_required_capabilities(one.get<std::string>());
  }
  out.set_risk_level(all.at("risk_level").get<std::string>());
  out.set_requires_confirmation(all.at("requires_confirmation").get<bool>());
  out.set_idempotent(all.at("idempotent").get<bool>());
  out.set_reversible(all.at("reversible").get<bool>());
  out.set_timeout_ms(all.at("timeout_ms").get<int32_t>());
  out.set_rollback_tool(info.rollback_tool);
  return out;
}

/// Returns why a commit did not happen, or nothing.
std::optional<Error> error_of(const CommitOutcome& outcome) {
  if (const auto* refused = std::get_if<Refused>(&outcome)) {
    return Error{ErrorKind::kRefused, refused->refusal().reason, refused->refusal().message, "", 0};
  }
  if (const auto* conflict = std::get_if<Conflict>(&outcome)) {
    const std::string why = conflict->paths.empty() ? "the workspace has changed meanwhile"
                                                    : conflict->paths.front().message;
    return Error{ErrorKind::kConflict, conflict->reason, why, "", 0};
  }
  return {};
}

void add_findings(v1::TransactionState& state, const Verdict& verdict) {
  for (const Finding& one : verdict.findings) {
    const std::string place =
        one.path.empty() ? "" : one.path + ":" + std::to_string(one.line) + ": ";
    state.add_findings(field_text(place + one.message));
  }
}

std::string session_of(const std::string& task) { return session_of_door("aios", task); }

TransactionOptions options_of(const std::string& agent, const std::string& task,
                              const std::string& reason) {
  TransactionOptions options = {agent, reason};
  options.session = session_of(task);
  return options;
}

bool is_grant(std::string_view tool) { return tool == "sec.grant" || tool == "sec.revoke"; }

Error no_transaction(const std::string& task) {
  return {ErrorKind::kNotFound, "stage.not_found",
          "the task '" + printable_line(task) + "' has no open transaction: begin one", "", 0};
}

}  // namespace

std::string error_text(const Error& error) {
  const ToolError as_tool = tool_error_from(error);
  return field_text(std::string(to_string(as_tool.code)) + ": " + as_tool.message);
}

Serving::Serving(std::unique_ptr<Workspace> workspace, ServingConfig config,
                 const ToolProfile& profile)
    : workspace_(std::move(workspace)),
      config_(std::move(config)),
      profile_(&profile),
      shape_(*tool_shape_named("aios")),
      stored_tools_(*workspace_),
      stages_(*workspace_) {}

Result<const ToolProfile*> Serving::profile_of(const std::string& agent) const {
  const Policy policy(rules_of(*workspace_).config);
  const std::string_view own = policy.tool_profile(agent);
  return own.empty() ? Result<const ToolProfile*>(profile_) : profile_named(own);
}

Result<ListToolsResponse> Serving::list(const std::string& agent, std::string_view name_space) {
  (void)stored_tools_.refresh();  // a tool that cannot be read is reported when it is called
  GALLEY_ASSIGN(const ToolProfile* profile, profile_of(agent));
  GALLEY_ASSIGN(const auto tools, workspace_->tools(agent));
  ListToolsResponse out;
  for (const ToolInfo& info : tools) {
    if (!profile->shows(info.name)) continue;
    ToolMessage message = message_of(*shape_, info);
    if (name_space.empty() || message.namespace_() == name_space) {
      *out.add_tools() = std::move(message);
    }
  }
  return out;
}

Result<ToolMessage> Serving::definition(const std::string& name, const std::string& agent) {
  (void)stored_tools_.refresh();
  GALLEY_ASSIGN(const ToolProfile* profile, profile_of(agent));
  GALLEY_TRY(profile->check_shows(name));
  GALLEY_ASSIGN(const ToolInfo info, workspace_->tool(name, agent));
  return message_of(*shape_, info);
}

// --- the tasks ----------------------------------------------------------------------------------

Result<std::shared_ptr<Serving::Task>> Serving::known_task(const Key& key,
                                                           const ServedPrincipal& owner) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = tasks_.find(key);
    if (found != tasks_.end()) return found->second;
  }
  GALLEY_ASSIGN(const std::string stage, stages_.find(key.first, session_of(key.second)));
  if (stage.empty()) return nullptr;
  return task_of(key, owner, stage);
}

Result<std::shared_ptr<Serving::Task>> Serving::task_of(const Key& key,
                                                        const ServedPrincipal& owner,
                                                        const std::string& stage) {
  const std::lock_guard lock(mutex_);
  const auto found = tasks_.find(key);
  if (found != tasks_.end()) return found->second;
  // Tasks whose transaction is over need no place.
  std::erase_if(tasks_, [](const auto& entry) {
    const std::unique_lock idle(entry.second->mutex, std::try_to_lock);
    return entry.second.use_count() == 1 && idle && entry.second->transaction.empty();
  });
  const size_t share = kMostOpenTasks / config_.principals.size();
  const auto own = std::ranges::count_if(
      tasks_, [&](const auto& entry) { return entry.second->owner == &owner; });
  if (static_cast<size_t>(own) >= share) {
    return fail(ErrorKind::kQuota, "limit.open_tasks",
                std::to_string(share) +
                    " tasks of this principal have an open transaction: commit or roll back one of "
                    "them");
  }
  auto task = std::make_shared<Task>();
  task->owner = &owner;
  task->transaction = stage;
  return tasks_[key] = std::move(task);
}

Result<std::unique_lock<std::timed_mutex>> Serving::take(Task& task, Deadline deadline) {
  std::unique_lock lock(task.mutex, std::defer_lock);
  if (lock.try_lock_until(std::min(deadline, std::chrono::system_clock::now() + kMostTaskWait))) {
    return lock;
  }
  return fail(ErrorKind::kTimeout, "call.cancelled",
              "another call of the task did not end in time");
}

Result<std::optional<Transaction>> Serving::open(Task& task, const Key& key,
                                                 const std::string& reason, bool begins) {
  if (!task.transaction.empty()) {
    auto resumed = workspace_->resume(task.transaction, key.first, reason);
    if (resumed) return std::optional(*std::move(resumed));
    if (!is_stage_gone(resumed.error())) return fail(resumed.error());
    task.transaction.clear();  // a person ended it
  }
  if (!begins) return std::optional<Transaction>();
  GALLEY_ASSIGN(Transaction begun,
                workspace_->begin_stored(options_of(key.first, key.second, reason)));
  task.transaction = begun.id();
  return std::optional(std::move(begun));
}

Result<Serving::State> Serving::in_task(
    const v1::TransactionRequest& request, const ServedCaller& caller,
    const std::function<Result<State>(Task&, Transaction&)>& use) {
  const Key key = {request.agent_id(), request.task_id()};
  GALLEY_ASSIGN(const auto task, known_task(key, caller.who));
  if (task == nullptr) return fail(no_transaction(key.second));
  GALLEY_ASSIGN(const auto lock, take(*task, caller.deadline));
  GALLEY_ASSIGN(auto transaction, open(*task, key, request.reason(), false));
  if (!transaction) return fail(no_transaction(key.second));
  return use(*task, *transaction);
}

Result<Serving::State> Serving::begin(const v1::TransactionRequest& request,
                                      const ServedCaller& caller) {
  const Key key = {request.agent_id(), request.task_id()};
  GALLEY_ASSIGN(const auto task, task_of(key, caller.who, ""));
  GALLEY_ASSIGN(const auto lock, take(*task, caller.deadline));
  GALLEY_ASSIGN(auto transaction, open(*task, key, request.reason(), true));
  State state;
  state.set_transaction(transaction->id());
  return state;
}

Result<Serving::State> Serving::preview(const v1::TransactionRequest& request,
                                        const ServedCaller& caller) {
  return in_task(request, caller, [&](Task&, Transaction& open) -> Result<State> {
    GALLEY_ASSIGN(const Preview preview, open.preview());
    GALLEY_ASSIGN(const std::string diff,
                  diff_shown_to(request.agent_id(), *workspace_, preview.proposal));
    if (diff.size() > kMostDiffBytes) {
      return fail(ErrorKind::kQuota, "limit.diff",
                  "the diff has " + std::to_string(diff.size()) +
                      " bytes, more than an answer may have: galley diff --tx " + open.id());
    }
    State state;
    state.set_transaction(open.id());
    state.set_diff(diff);
    add_findings(state, preview.verdict);
    if (const auto* refusal = std::get_if<Refusal>(&preview.verdict.decision)) {
      state.set_error(error_text({ErrorKind::kRefused, refusal->reason, refusal->message, "", 0}));
    }
    return state;
  });
}

Result<Serving::State> Serving::commit(const v1::TransactionRequest& request,
                                       const ServedCaller& caller) {
  return in_task(request, caller, [&](Task& task, Transaction& open) -> Result<State> {
    if (caller.stop.stop_requested() || caller.deadline <= std::chrono::system_clock::now()) {
      return fail(ErrorKind::kTimeout, "call.cancelled", "the call was stopped before its commit");
    }
    GALLEY_ASSIGN(const CommitOutcome outcome, open.commit());
    State state;
    state.set_transaction(open.id());
    if (const auto why = error_of(outcome)) state.set_error(error_text(*why));
    if (const auto* refused = std::get_if<Refused>(&outcome)) {
      add_findings(state, refused->preview.verdict);
    }
    if (const auto* receipt = std::get_if<Receipt>(&outcome)) {
      state.set_transaction(receipt->id.str());
      task.transaction.clear();
    }
    return state;
  });
}

Result<Serving::State> Serving::drop(const v1::TransactionRequest& request,
                                     const ServedCaller& caller) {
  return in_task(request, caller, [](Task& task, Transaction& open) -> Result<State> {
    GALLEY_TRY(open.rollback());
    task.transaction.clear();
    return State();
  });
}

// --- calls --------------------------------------------------------------------------------------

ExecuteResponse Serving::execute(const ExecuteRequest& request, ToolCall call, CallOptions options,
                                 const ServedCaller& caller) {
  const Telemetry::Work work(telemetry_);
  (void)stored_tools_.refresh();
  options.task_id = request.task_id();
  options.reason = request.reason();
  const auto ran = run(request, std::move(call), options, caller);
  const ToolResult result = ran ? *ran : ToolResult::failure(tool_error_from(ran.error()));
  ExecuteResponse response;
  response.set_success(result.ok);
  if (result.ok) response.set_output_json(result.data ? json_text(*result.data) : "{}");
  if (!result.ok) {
    response.set_error(field_text(error_line_in(*shape_, *result.error)));
  }
  response.set_execution_id(result.meta.execution_id);
  const std::string* unrecorded = unrecorded_warning(result.meta);
  if (unrecorded != nullptr && caller.warn) caller.warn(*unrecorded);
  response.set_duration_ms(result.meta.duration_ms);
  remember(result.meta.execution_id, {request.agent_id(), request.task_id()});
  const std::string& error = response.error();
  work.end({result.ok ? "ok" : error.substr(0, error.find(':')),
            !result.ok,
            request.task_id().empty() ? "" : session_of(request.task_id()),
            {{"galley.tool", request.tool_name()},
             {"galley.task", request.task_id()},
             {"galley.agent", request.agent_id()},
             {"galley.execution", response.execution_id()}}});
  return response;
}

Result<ToolResult> Serving::run(const ExecuteRequest& request, ToolCall call,
                                const CallOptions& options, const ServedCaller& caller) {
  GALLEY_ASSIGN(const ToolProfile* profile, profile_of(request.agent_id()));
  call.refuse_unless(profile->check_shows(request.tool_name()));
  if (is_grant(request.tool_name()) && caller.who.has(kGrantRight)) {
    return run_as_person(request, std::move(call), options);
  }
  // A call that will be refused begins nothing.
  const bool begins = config_.commit == ServingConfig::CommitRule::kExplicit && !call.flaw;
  const Key key = {request.agent_id(), request.task_id()};
  GALLEY_ASSIGN(std::shared_ptr<Task> task, known_task(key, caller.who));
  if (task == nullptr && begins) {
    GALLEY_ASSIGN(task, task_of(key, caller.who, ""));
  }
  if (task != nullptr) {
    GALLEY_ASSIGN(const auto lock, take(*task, caller.deadline));
    GALLEY_ASSIGN(auto transaction, open(*task, key, request.reason(), begins));
    if (transaction) {
      ToolResult called = inner(*transaction).call_recorded(std::move(call), options);
      GALLEY_TRY(transaction->save());
      return called;
    }
  }
  return run_and_commit(key, std::move(call), options);
}

/// Such a call is in no transaction, because no rollback takes a grant back. The question about it
/// and its record name the agent.
Result<ToolResult> Serving::run_as_person(const ExecuteRequest& request, ToolCall call,
                                          CallOptions options) {
  options.reason = "asked by the agent '" + request.agent_id() + "': " + request.reason();
  if (options.confirm) {
    options.confirm = [&request, ask = options.confirm](CallOptions::Question question) {
      question.agent = request.agent_id();
      return ask(question);
    };
  }
  return run_and_commit({"", request.task_id()}, std::move(call), options);
}

Result<ToolResult> Serving::run_and_commit(const Key& key, ToolCall call,
                                           const CallOptions& options) {
  TransactionOptions who = options_of(key.first, key.second, options.reason);
  who.stop = options.stop;
  GALLEY_ASSIGN(Transaction transaction, workspace_->begin(who));
  const std::string tool = call.tool;
  ToolResult result = inner(transaction).call_recorded(std::move(call), options);
  if (!result.ok) return result;
  CommitRequest asked;
  asked.tool = tool;
  const bool is_stopped = options.stop.stop_requested();
  Result<CommitOutcome> outcome =
      is_stopped ? Result<CommitOutcome>(fail(ErrorKind::kTimeout, "call.cancelled",
                                              "the call was stopped before its commit"))
                 : transaction.commit(asked);
  auto why = outcome ? error_of(*outcome) : std::optional<Error>(outcome.error());
  if (!why) return result;
  if (why->kind != ErrorKind::kUndecided) (void)transaction.rollback();
  ToolResult refused = ToolResult::failure(tool_error_from(*why));
  refused.meta = result.meta;
  return refused;
}

void Serving::remember(const std::string& execution, Key key) {
  if (execution.empty()) return;
  const std::lock_guard lock(mutex_);
  if (!executions_.emplace(execution, std::move(key)).second) return;
  known_executions_.push_back(execution);
  if (known_executions_.size() <= kMostKnownExecutions) return;
  executions_.erase(known_executions_.front());
  known_executions_.pop_front();
}

Result<std::string> Serving::agent_of(const std::string& execution) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = executions_.find(execution);
    if (found != executions_.end()) return found->second.first;
  }
  GALLEY_ASSIGN(const History history, persistent_of(*workspace_).history("roll back"));
  return find_recorded_call(history.state().root(), execution).map([](const auto& found) {
    return found.agent;
  });
}

/// Takes back a call in the open transaction that the record names: the server that made it has
/// ended. Returns nothing if it was committed.
Result<std::optional<std::vector<std::string>>> Serving::roll_back_staged(
    const std::string& execution, const std::string& agent, const std::string& reason) {
  GALLEY_ASSIGN(const History history, persistent_of(*workspace_).history("roll back"));
  const auto found = find_recorded_call(history.state().root(), execution);
  if (!found || found->committed) return std::optional<std::vector<std::string>>();
  auto resumed = workspace_->resume(found->open_tx, agent, reason);
  if (!resumed && is_stage_gone(resumed.error())) return std::optional<std::vector<std::string>>();
  if (!resumed) return fail(resumed.error());
  GALLEY_ASSIGN(auto taken, resumed->rollback_execution(execution));
  return std::optional(std::move(taken));
}

Result<std::vector<std::string>> Serving::roll_back(const std::string& execution,
                                                    const std::string& agent,
                                                    const std::string& reason, Deadline deadline) {
  Key key;
  std::shared_ptr<Task> task;
  {
    const std::lock_guard lock(mutex_);
    const auto found = executions_.find(execution);
    if (found != executions_.end()) key = found->second;
    const auto known = tasks_.find(key);
    if (known != tasks_.end()) task = known->second;
  }
  if (task != nullptr) {
    GALLEY_ASSIGN(const auto lock, take(*task, deadline));
    GALLEY_ASSIGN(auto transaction, open(*task, {agent, key.second}, reason, false));
    if (transaction) {
      auto taken = transaction->rollback_execution(execution);
      // A call of an earlier transaction of the task was committed.
      if (taken || taken.error().reason != "rollback.unknown_execution") return taken;
    }
  }
  GALLEY_ASSIGN(const auto staged, roll_back_staged(execution, agent, reason));
  if (staged) return *staged;
  GALLEY_ASSIGN(const CommitOutcome outcome,
                workspace_->rollback_execution(execution, false, {agent, reason}));
  if (auto why = error_of(outcome)) return fail(*std::move(why));
  return std::vector<std::string>{execution};
}

}  // namespace galley
