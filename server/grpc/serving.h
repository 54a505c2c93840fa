#pragma once

#include <galley/workspace.h>

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "aios_tools.pb.h"
#include "base/result.h"
#include "engine/calls/executor.h"
#include "engine/pipeline/stored_tools.h"
#include "galley/v1/transactions.pb.h"
#include "server/grpc/serving_config.h"
#include "server/session/session_stages.h"
#include "tools/profiles.h"
#include "tools/shapes.h"
#include "tools/tool.h"

namespace galley {

struct ToolCall;

/// Tasks with an open transaction. Each principal of the configuration has an equal share.
inline constexpr size_t kMostOpenTasks = 1'000;
inline constexpr size_t kMostKnownExecutions = 10'000;  ///< calls whose agent and task are known
inline constexpr size_t kMostDiffBytes = size_t{1} << 20U;
/// A call that has no deadline waits this long for another call of its task.
inline constexpr std::chrono::minutes kMostTaskWait{10};

/// `CODE: message`, as aiOS writes it.
[[nodiscard]] std::string error_text(const Error& error);

/// The caller of a call, and when the call must end.
struct ServedCaller {
  const ServedPrincipal& who;  ///< of the configuration of the server
  std::chrono::system_clock::time_point deadline;
  std::stop_token stop;
  /// Takes the warning that the call is not on record, for which ExecuteResponse has no field; may
  /// be empty.
  std::function<void(const std::string&)> warn = {};
};

/// The workspace that a server serves, and the open transactions of its agents' tasks. It turns
/// calls of gRPC into calls of the library; the rules, the record and the gate are the library's.
///
/// Ownership: owns the workspace. Threads: safe to share; calls of one task take turns.
class Serving {
 public:
  using Deadline = std::chrono::system_clock::time_point;

  Serving(std::unique_ptr<Workspace> workspace, ServingConfig config, const ToolProfile& profile);

  /// Tells of each call; null: nothing. Not while calls run.
  void report_to(Telemetry* telemetry) { telemetry_ = telemetry; }
  [[nodiscard]] const ServingConfig& config() const { return config_; }
  [[nodiscard]] Workspace& workspace() { return *workspace_; }

  /// Returns the tools that an agent can call, sorted by their order in the registry.
  Result<aios::tools::ListToolsResponse> list(const std::string& agent,
                                              std::string_view name_space);
  /// Errors: those of Workspace::tool(); kUsage `tool.not_in_profile`.
  Result<aios::tools::ToolDefinition> definition(const std::string& name, const std::string& agent);
  /// Calls a tool: in the open transaction of its task, or in one that is committed at once.
  aios::tools::ExecuteResponse execute(const aios::tools::ExecuteRequest& request, ToolCall call,
                                       CallOptions options, const ServedCaller& caller);
  /// The agent of a call; empty: a person made it.
  /// Errors: those of find_recorded_call().
  Result<std::string> agent_of(const std::string& execution);
  /// Takes back one call, in its open transaction or by a new commit. Returns the ids of all calls
  /// that were taken back.
  Result<std::vector<std::string>> roll_back(const std::string& execution, const std::string& agent,
                                             const std::string& reason, Deadline deadline);

  using State = v1::TransactionState;
  /// Each works on the open transaction of a task.
  Result<State> begin(const v1::TransactionRequest& request, const ServedCaller& caller);
  Result<State> preview(const v1::TransactionRequest& request, const ServedCaller& caller);
  /// A stop ends only a commit that has not begun.
  Result<State> commit(const v1::TransactionRequest& request, const ServedCaller& caller);
  Result<State> drop(const v1::TransactionRequest& request, const ServedCaller& caller);

 private:
  struct Task {
    const ServedPrincipal* owner;  ///< whose share it uses
    std::timed_mutex mutex;
    std::string transaction;  ///< guarded by mutex; empty: none is open
  };
  using Key = std::pair<std::string, std::string>;  ///< agent and task

  [[nodiscard]] Result<const ToolProfile*> profile_of(const std::string& agent) const;
  /// Returns the task, or null if it is unknown. A server that ended may have begun it.
  /// Errors: as task_of(); those of SessionStages::find().
  Result<std::shared_ptr<Task>> known_task(const Key& key, const ServedPrincipal& owner);
  /// Returns the task. If it is new, `stage` is its transaction; empty: none is open.
  /// Errors: kQuota `limit.open_tasks`.
  Result<std::shared_ptr<Task>> task_of(const Key& key, const ServedPrincipal& owner,
                                        const std::string& stage);
  /// Waits for the other calls of a task.
  static Result<std::unique_lock<std::timed_mutex>> take(Task& task, Deadline deadline);
  /// Opens the transaction of a task again. Without one it returns nothing, or begins one.
  Result<std::optional<Transaction>> open(Task& task, const Key& key, const std::string& reason,
                                          bool begins);
  /// Opens the transaction of the task of a request, and closes it after `use`.
  Result<State> in_task(const v1::TransactionRequest& request, const ServedCaller& caller,
                        const std::function<Result<State>(Task&, Transaction&)>& use);
  Result<ToolResult> run(const aios::tools::ExecuteRequest& request, ToolCall call,
                         const CallOptions& options, const ServedCaller& caller);
  Result<ToolResult> run_as_person(const aios::tools::ExecuteRequest& request, ToolCall call,
                                   CallOptions options);
  Result<ToolResult> run_and_commit(const Key& key, ToolCall call, const CallOptions& options);
  Result<std::optional<std::vector<std::string>>> roll_back_staged(const std::string& execution,
                                                                   const std::string& agent,
                                                                   const std::string& reason);
  void remember(const std::string& execution, Key key);

  std::unique_ptr<Workspace> workspace_;
  ServingConfig config_;
  const ToolProfile* profile_;
  const ToolShape* shape_;
  StoredTools stored_tools_;
  SessionStages stages_;
  Telemetry* telemetry_ = nullptr;
  std::mutex mutex_;  ///< guards the following
  std::map<Key, std::shared_ptr<Task>> tasks_;
  std::map<std::string, Key> executions_;
  std::deque<std::string> known_executions_;  ///< oldest first
};

}  // namespace galley
