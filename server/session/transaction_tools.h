#pragma once

#include <galley/workspace.h>

#include <deque>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "server/mcp/features.h"
#include "server/session/long_output.h"
#include "server/session/open_transactions.h"

namespace galley {

/// The tools for transactions instead of files: `galley_begin`, `galley_status`, `galley_diff`,
/// `galley_preview`, `galley_validate`, `galley_commit`, `galley_rebase`, `galley_resolve`,
/// `galley_rollback`, `galley_undo`, `galley_log`, `galley_output`. They do the same as the
/// commands of those names, and do not bypass them.
///
/// Ownership: borrows workspace and transactions. Threads: may be called from several threads.
class TransactionTools {
 public:
  /// `is_shared`: as in SessionOptions.
  TransactionTools(Workspace& workspace, OpenTransactions& open, bool is_shared)
      : workspace_(&workspace), open_(&open), is_shared_(is_shared) {}

  /// `Tool` objects of the protocol.
  [[nodiscard]] static const std::vector<nlohmann::ordered_json>& list();
  [[nodiscard]] static bool has(std::string_view name);
  /// Whether a tool of these works on one transaction, which is the connection's own without `tx`.
  [[nodiscard]] static bool needs_tx(std::string_view name);
  /// Whether a tool of these changes nothing.
  [[nodiscard]] static bool only_reads(std::string_view name);
  /// Whether a tool of these may change what a transaction stages, or end it.
  [[nodiscard]] static bool changes_staged(std::string_view name);
  /// Returns a `CallToolResult`, also for invalid arguments.
  nlohmann::ordered_json call(const std::string& name, const nlohmann::json& arguments,
                              McpRequest& request);

  /// Remembers a commit of this connection: galley_undo without an id takes back only these and
  /// those of the session in the history. Clients that share the connection would take back each
  /// other's, so those are not remembered.
  void note_commit(TxId id);

  /// Keeps an output of a call without a stored transaction for galley_output, as long as the
  /// connection lasts and within the limits of engine/stages/kept_outputs.h.
  void keep_output(const std::string& execution, CutOutput output);

  /// A diff as the agent of this connection may see it.
  Result<std::string> shown_diff(const Proposal& proposal) const;
  /// The diff and the status of a transaction, also used for resources.
  Result<std::string> diff_text(const std::string& tx);
  Result<nlohmann::ordered_json> status(const std::string& tx);

 private:
  Result<nlohmann::ordered_json> begin(const nlohmann::json& arguments);
  Result<nlohmann::ordered_json> show_status(const nlohmann::json& arguments);
  Result<nlohmann::ordered_json> show_diff(const nlohmann::json& arguments);
  Result<nlohmann::ordered_json> preview(const nlohmann::json& arguments, bool with_diff,
                                         McpRequest& request);
  Result<nlohmann::ordered_json> commit(const nlohmann::json& arguments, McpRequest& request);
  Result<nlohmann::ordered_json> rebase(const nlohmann::json& arguments);
  Result<nlohmann::ordered_json> resolve(const nlohmann::json& arguments);
  Result<nlohmann::ordered_json> rollback(const nlohmann::json& arguments);
  Result<nlohmann::ordered_json> undo(const nlohmann::json& arguments, McpRequest& request);
  Result<nlohmann::ordered_json> output(const nlohmann::json& arguments);
  Result<nlohmann::ordered_json> log(const nlohmann::json& arguments) const;

  /// The whole text of an output that the arguments name, from this connection or a transaction.
  Result<std::string> whole_output(const nlohmann::json& arguments);
  /// Ids of the commits of this connection and its session that may be in effect, newest first.
  Result<std::vector<std::string>> own_commits();
  void forget_commit(const std::string& id);

  Workspace* workspace_;
  OpenTransactions* open_;
  bool is_shared_;
  std::mutex mutex_;
  struct OwnCommit {
    std::string session;
    TxId id;
  };
  std::deque<OwnCommit> committed_;  ///< guarded by mutex_; not taken back yet, oldest first
  struct KeptOutput {
    std::string execution;
    CutOutput output;
  };
  std::deque<KeptOutput> outputs_;  ///< guarded by mutex_; oldest first
};

}  // namespace galley
