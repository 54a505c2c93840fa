#pragma once

#include <galley/workspace.h>

#include <functional>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <shared_mutex>
#include <stop_token>
#include <string>
#include <vector>

#include "engine/pipeline/stored_tools.h"
#include "server/mcp/features.h"
#include "server/session/open_transactions.h"
#include "server/session/transaction_tools.h"

namespace galley {

struct ToolProfile;

/// The options of a connection.
struct SessionOptions {
  std::string agent = {};    ///< selects the profile in galley.toml; never taken from the client
  std::string version = {};  ///< of the program
  std::set<std::string> tools = {};  ///< which of the workspace's tools are shown; empty: all
  /// The prefix of the names of the workspace's tools. An agent has its own Read, Edit and Bash.
  std::string prefix = {};
  /// The names under which tools are shown, if `tools` is empty; null: the standard names.
  const ToolProfile* profile = nullptr;
  /// Chooses `profile` again after galley.toml changed.
  std::function<Result<const ToolProfile*>()> choose_profile = {};
  /// Each call that changes something is a separate transaction, committed at once if the gate
  /// approves and dropped otherwise.
  bool commits_each_call = false;
  /// Clients that are not told apart share the connection (stateless requests over HTTP). A call
  /// that changes something without a `tx` begins a transaction, and all further calls name it.
  bool is_shared = false;
  /// Returns the session of the next call. The workspace has none of its own then.
  std::function<OpenTransactions::AgentSessionName()> session = {};
  SecretProvider secrets = {};
};

/// An approver that asks the client of the current request. If the client cannot be asked, it
/// refuses.
[[nodiscard]] Approver client_approver();

/// The features that Galley offers to an agent over the Model Context Protocol: the tools of the
/// workspace and of transactions, diffs and files as resources, prompts for review.
///
/// Ownership: borrows the workspace. Threads: as McpFeatures; calls of one transaction take turns.
class WorkspaceFeatures final : public McpFeatures {
 public:
  static constexpr size_t kMaxListedCommits = 20;    ///< commits among the resources of an agent
  static constexpr size_t kMaxCompletedPaths = 100;  ///< paths and ids of one completion

  WorkspaceFeatures(Workspace& workspace, SessionOptions options);

  [[nodiscard]] Identity identity() const override;
  std::vector<nlohmann::ordered_json> tools() override;
  McpAnswer call_tool(const std::string& name, const nlohmann::json& arguments,
                      McpRequest& request) override;
  /// Calls in one transaction have the same lane. Requests without a transaction have none.
  McpArrival arrive(const std::string& method, const nlohmann::json& params) override;
  std::vector<nlohmann::ordered_json> resources() override;
  std::vector<nlohmann::ordered_json> resource_templates() override;
  McpAnswer read_resource(const std::string& uri, McpRequest& request) override;
  std::vector<nlohmann::ordered_json> prompts() override;
  McpAnswer get_prompt(const std::string& name, const nlohmann::json& arguments,
                       McpRequest& request) override;
  std::vector<std::string> complete(const Completion& wanted) override;
  void on_change(Changed changed) override;

 private:
  [[nodiscard]] bool only_reads(const std::string& name) const;
  [[nodiscard]] std::string lane_of(const std::string& method, const nlohmann::json& params) const;
  [[nodiscard]] RpcError unknown_tool(const std::string& name) const;
  [[nodiscard]] bool is_shown(const ToolInfo& info) const;
  /// The name of a tool without the prefix of this connection; empty if it lacks that.
  [[nodiscard]] std::string own_name(const std::string& shown) const;
  /// Holds the rules as galley.toml has them now. If a person changed it, they are read again when
  /// no call runs any more.
  /// Errors: kConflict `config.changed` if a call runs too long; those of read_rules_again().
  Result<std::shared_lock<std::shared_timed_mutex>> hold_rules(const std::stop_token& stop = {});
  /// Tells the client once what people should know about the workspace.
  void log_notices(McpRequest& request);
  [[nodiscard]] bool takes_tx(const ToolInfo& info) const;
  [[nodiscard]] nlohmann::ordered_json shown_tool(const ToolInfo& info) const;
  bool commits_now(const std::string& tx);
  [[nodiscard]] bool commits_by_itself() const;
  nlohmann::ordered_json call_own(const ToolInfo& info, nlohmann::json arguments,
                                  McpRequest& request);
  void record_unknown(const std::string& name, const nlohmann::json& arguments, const RpcError& why,
                      McpRequest& request) const;
  nlohmann::ordered_json call_and_commit(const ToolInfo& info, nlohmann::json arguments,
                                         McpRequest& request);
  [[nodiscard]] CallOptions call_options(McpRequest& request) const;
  void notify_resource_changed(const std::string& tx);
  /// Reports that the list of resources, or with kListOfTools the list of tools, has changed.
  void notify_list_changed(std::string_view which);
  /// Loads tools that people added or removed, and reports the change.
  void refresh_tools();
  /// The error of check_not_moved(), for requests that are not calls of tools.
  [[nodiscard]] std::optional<RpcError> moved_folder() const;
  Result<std::string> transaction_resource(const std::string& tx, const std::string& part,
                                           std::string& mime);
  Result<std::string> staged_summary(const std::string& tx);
  std::vector<std::string> paths_below(const std::string& typed, const std::string& tx);

  Workspace* workspace_;
  SessionOptions options_;
  mutable OpenTransactions open_;
  TransactionTools transaction_tools_;
  StoredTools stored_tools_;
  std::shared_timed_mutex rules_mutex_;  ///< held while a request uses the rules
  std::mutex mutex_;
  Changed changed_;                    ///< guarded by mutex_
  bool has_logged_ = false;            ///< guarded by mutex_; the notices
  std::vector<std::string> unlogged_;  ///< guarded by mutex_; of rules that were read again
};

}  // namespace galley
