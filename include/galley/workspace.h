#pragma once

#include <galley/error.h>
#include <galley/history.h>
#include <galley/outcome.h>
#include <galley/path.h>
#include <galley/proposal.h>
#include <galley/tool.h>
#include <galley/transaction.h>
#include <galley/verdict.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace galley {

class Clock;
class CommandRunner;
struct UserSettings;
struct ValidatorConfig;
struct WorkspaceState;
struct WorkspaceTree;

/// The options of Workspace::open. The defaults suit a program that trusts nothing in the
/// workspace.
struct WorkspaceOptions {
  std::string config_file = {};            ///< replaces galley.toml at the root; any path
  Approver approver = {};                  ///< answers `ask`; null: every answer is "no"
  std::vector<ToolDefinition> tools = {};  ///< added to the standard ones, in this order
  /// Objects that tools may ask for when they are created.
  ToolDefinition::Dependencies dependencies = {};
  /// Nothing can be staged or committed, and only tools that read can be called.
  bool reads_only = false;
  /// Commands see a fixed time, zone and locale, and no network (docs/tools.md).
  bool is_deterministic = false;
  /// Trusts galley.toml, including the commands that it runs and the rights that it widens
  /// (docs/policy.md).
  bool trusts_configuration = false;
  /// Uses the configuration of the person who runs this process: trusted workspaces, safe
  /// directories, hooks. open() reads the environment and the files.
  bool uses_personal_settings = false;
  /// Every validator reports only findings that a change introduces. This overrides galley.toml.
  bool only_new = false;
  bool recovers = true;  ///< false: leave the state after a crash, to inspect it first
  /// The agent's session that every commit belongs to: at most 128 printable ASCII characters.
  std::string session = {};
  /// Opens with strict defaults if galley.toml cannot be read. For programs that only read or
  /// repair.
  bool tolerates_bad_configuration = false;

  // For Galley's own rooms: types that are not installed.
  CommandRunner* runner = nullptr;  ///< runs commands and command validators; null: the sandbox
  const Clock* clock = nullptr;     ///< null: the system's
  std::shared_ptr<const UserSettings> user = nullptr;  ///< already loaded personal settings
  /// Trusted, and added to the validators of galley.toml.
  std::vector<std::shared_ptr<const ValidatorConfig>> validators = {};
  /// The tree to show instead of the files at the path. Then nothing is stored or committed.
  std::shared_ptr<const WorkspaceTree> tree = nullptr;
};

/// A directory, or a branch of git, that is changed through transactions.
///
/// Invariant: open() writes nothing, except to recover a workspace with a trusted `.galley/`. The
///            first stored transaction or commit creates `.galley/`.
/// Ownership: owns the root's descriptor, the configuration and the tools. Transactions borrow it.
/// Threads:   several threads may use it, each with its own transactions. These run in parallel and
///            wait for each other only at the writer lock. Root, configuration, trust and notices
///            are constant after open(). `.galley`, the audit log, the tools, and the caches and
///            runners of validators are created under a lock by the first thread that needs them.
///            An Approver, runner, tool or clock of WorkspaceOptions is called on any of these
///            threads. No other call is allowed while open_adopted_state() runs.
/// Errors:    kNotFound `workspace.not_found`, kInvalid `workspace.not_directory`, `config.*`,
///            kRefused `workspace.foreign_owner`, kIo. Functions that write state return kRefused
///            `state.not_believed` if `.galley` is not trusted (state_distrust()).
class Workspace {
 public:
  /// One open stored transaction, for `status`.
  struct Stage {
    std::string id;
    std::string agent;
    std::string session;  ///< that began it; may be empty
    std::string message;
    int64_t begun_ns = 0;
    size_t changes = 0;
    bool is_held = false;          ///< another process has opened it
    bool is_of_this_user = false;  ///< its owner is the system user of this process

    /// Whether commands of the agent `name` use it by default.
    [[nodiscard]] bool is_own(const std::string& name) const {
      return is_of_this_user && agent == name;
    }
  };

  /// A capability that a person granted to an agent or revoked.
  struct Grant {
    std::string agent;
    std::string capability;  ///< `custom:deploy`, `fs:write:src/**`
    bool is_revoked = false;
    std::string by;          ///< the person, for the record
    int64_t decided_ns = 0;  ///< wall clock
  };

  /// A push of the branch of a git workspace.
  struct Push {
    std::string branch;   ///< the whole name, `refs/heads/main`
    std::string address;  ///< of the other repository, without a password
    std::string from;     ///< the commit that its branch had; empty: it had no such branch
    std::string to;       ///< the commit that it has now
  };

  /// Opens the workspace that contains `path`: the nearest parent directory with a `.git` or a
  /// trusted `.galley`, else the outermost one with a galley.toml, else `path` itself.
  /// Errors: those of the class; kInvalid `tool.*`, which names the tool, for one of options.tools.
  static Result<std::unique_ptr<Workspace>> open(const std::string& path,
                                                 WorkspaceOptions options = {});
  /// Opens a branch of a git repository, which may be bare, without a checkout. `ref` is a branch,
  /// a whole name below `refs/`, or `HEAD`. A commit makes one git commit and moves the branch by
  /// compare-and-swap. If the branch moved meanwhile, the proposal is merged and judged again. The
  /// state is in `galley/` in the git directory (docs/adr/0101).
  /// Errors: those of open(); kNotFound `git.no_repository`, `git.no_such_branch`; kUsage
  ///         `git.not_a_branch`; kRefused `git.other_owner`. A commit also returns kRefused
  ///         `git.checked_out`, `git.submodule`, `git.mode`, `git.no_identity`, `git.ref_locked`.
  static Result<std::unique_ptr<Workspace>> open_git(const std::string& repository,
                                                     const std::string& ref = "HEAD",
                                                     WorkspaceOptions options = {});
  ~Workspace();
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  // --- transactions -----------------------------------------------------------------------------
  /// Begins a transaction in memory. No file is written before its commit.
  Result<Transaction> begin(const TransactionOptions& options = {});
  /// Begins a transaction in memory that shows `shown` (an earlier tree). Commands can run on it,
  /// but it cannot be committed.
  Result<Transaction> begin_view(const Proposal& shown, const TransactionOptions& options = {});
  /// Begins a transaction that is stored under `.galley/stage/` and outlives the process.
  Result<Transaction> begin_stored(const TransactionOptions& options = {});
  /// Reopens a stored transaction for `agent`, which need not be its owner. Every call is checked
  /// against the rules of both agents, and both are recorded. A unique beginning of the id is
  /// enough. An empty id selects the transaction that `agent` began as the same system user,
  /// or that the workspace's session began. A `reason` is recorded with all further calls, and
  /// becomes the message of a transaction without one.
  /// Errors: kNotFound `stage.not_found`; kUsage `stage.which`, with a list, if the id is
  ///         ambiguous, or if it is empty and all open transactions belong to other agents.
  Result<Transaction> resume(const std::string& id = {}, const std::string& agent = {},
                             const std::string& reason = {});
  /// Returns the whole id of the open transaction whose id starts with `beginning`, or `beginning`
  /// itself if no id does.
  /// Errors: kUsage, reason `stage.which`, if several match.
  Result<std::string> find_stage_id(const std::string& beginning) const;
  /// Drops a transaction that resume() reports as damaged (`stage.damaged`) and that cannot be
  /// rolled back. A unique beginning of its id is enough. Its contributors are unknown, so it must
  /// belong to the system user of this process.
  /// Errors: kNotFound `stage.not_found`; kRefused `stage.not_yours`.
  Result<void> drop_damaged(const std::string& beginning);
  /// Returns the stored transactions, oldest first.
  Result<std::vector<Stage>> stages() const;
  /// Returns the gate's verdict on a proposal that is not from a transaction (show(), an undo).
  Result<Preview> judge(Proposal proposal, const TransactionOptions& who,
                        const std::function<void(const Verdict::Progress&)>& on_progress = {});
  /// Judges such a proposal, and publishes it if the gate approves. If the agent has a list of
  /// tools, one of them must change files.
  Result<CommitOutcome> commit(Proposal proposal, const TransactionOptions& who,
                               const CommitRequest& request);
  /// Approves in advance one proposal that a rule asks about. The next judgements of this proposal
  /// use the approval as the answer, and its commit removes it. The approval is recorded before it
  /// takes effect.
  /// Errors: kRefused `approval.by_agent` if `who` is an agent, since only people approve.
  Result<void> approve(const ContentId& proposal, const std::string& by,
                       const TransactionOptions& who = {});

  /// Confirms in advance one call that was refused with `call.needs_confirmation`. The next call of
  /// the same agent with the same arguments uses it. `id` is the id in the refusal, or its first
  /// digits. The approval is recorded before it takes effect.
  /// Errors: kRefused `approval.by_agent`; kNotFound `confirmation.not_found`.
  Result<void> confirm(const std::string& id, const std::string& by,
                       const TransactionOptions& who = {});
  /// Returns the calls that wait for a confirmation, oldest first.
  Result<std::vector<CallOptions::Question>> pending_confirmations() const;

  // --- grants -----------------------------------------------------------------------------------
  // Capabilities of agents in addition to galley.toml, stored under `.galley/` (docs/policy.md). A
  // grant applies from the next call on, also in open transactions. It is recorded before it takes
  // effect.

  /// Grants a capability to an agent. A capability that galley.toml denies cannot be granted.
  /// Errors: kRefused `grant.by_agent` if `who` is an agent, `grant.wider_than_configuration`;
  ///         kInvalid `grant.agent`, `capability.invalid`; kQuota `limit.grants`.
  Result<void> grant(const std::string& agent, const std::string& capability, const std::string& by,
                     const TransactionOptions& who = {});
  /// Revokes a capability of an agent, even one that galley.toml gives.
  /// Errors: as grant().
  Result<void> revoke(const std::string& agent, const std::string& capability,
                      const std::string& by, const TransactionOptions& who = {});
  /// Returns the newest grant or revocation of each agent and capability, oldest first.
  Result<std::vector<Grant>> grants() const;

  // --- history ----------------------------------------------------------------------------------
  // An id is a transaction's number; `@` is the newest and `@~2` the second before it.
  // Errors of all: kNotFound `history.not_found`, `history.pruned`; kUsage `history.bad_id`; kIo
  // `journal.damaged`.

  /// Undoes a transaction by a new commit. The gate judges its proposal, and it can be undone, too.
  /// Without an id it undoes the newest transaction that is neither undone nor an undo. Later
  /// changes are merged by lines, or cause a Conflict with reason `undo.conflict`. Merge::kMarkers
  /// has the same effect as kLines here. The result is NothingToCommit if the workspace already has
  /// the old state.
  /// Errors: kNotFound `history.nothing_to_undo`; kUsage `undo.unknown_path`, `undo.unknown_hunk`.
  Result<CommitOutcome> undo(std::string_view id = {}, const UndoOptions& options = {},
                             const TransactionOptions& who = {});
  /// Reverts an undo. The id is that of the undo, or of the transaction that was undone. Without an
  /// id it reverts the newest undo.
  /// Errors: kNotFound `history.nothing_to_redo`; kUsage `undo.not_undone`.
  Result<CommitOutcome> redo(std::string_view id = {}, const UndoOptions& options = {},
                             const TransactionOptions& who = {});
  /// Undoes the changes of one call of a committed transaction, by its execution id. Only the paths
  /// of that call are undone. If later calls of the transaction changed the same paths, the
  /// function fails, or also undoes these calls if `with_later` is true. For a call of an open
  /// transaction use Transaction::rollback_execution.
  /// Errors: kNotFound `rollback.unknown_execution`; kConflict `rollback.built_upon`,
  ///         `rollback.built_on` (the history has only the final state of each path, so a call that
  ///         built on an earlier one cannot be undone alone); kUsage `rollback.open`,
  ///         `rollback.not_committed`, `rollback.nothing`; kQuota `rollback.too_many_paths`.
  Result<CommitOutcome> rollback_execution(const std::string& execution, bool with_later = false,
                                           const TransactionOptions& who = {});
  /// Returns the committed transactions, newest first.
  Result<std::vector<TxSummary>> log(const HistoryFilter& filter = {}) const;
  /// Returns the changes of a transaction, with both sides, without files that `agent` may not
  /// read.
  Result<Proposal> show(std::string_view id, const std::string& agent = {}) const;
  /// Finds the transaction that wrote each line of a file. It follows renames and copies.
  /// Errors: kNotFound; kRefused `blame.binary`, and the rule's reason if `agent` may not read the
  ///         file.
  Result<Blame> blame(std::string_view path, const std::string& agent = {}) const;
  /// Runs one SELECT on the history's tables (docs/transactions.md), for at most ten seconds.
  /// Errors: kUsage `query.sql`, `query.not_read_only`; kTimeout `query.timeout`; kQuota
  ///         `query.memory`.
  Result<QueryResult> query(std::string_view sql) const;

  /// Pushes the branch of a git workspace to another repository, where it must not have moved. A
  /// failure changes nothing here. Only a person may push. With `expected`, the branch there must
  /// have this commit.
  /// Errors: kUsage `push.no_branch`, `push.unknown_remote`; kConflict `push.remote_moved`;
  ///         kRefused `push.by_agent`, `push.remote_refused`, `push.remote_is_a_folder`,
  ///         `push.odd_config`; kIo `push.failed`; kUndecided `push.unknown`.
  Result<Push> push(const std::string& remote, const TransactionOptions& who = {},
                    const std::string& expected = {});

  // --- tools ------------------------------------------------------------------------------------
  /// Adds a tool. Running calls keep their tools.
  /// Errors: kInvalid `tool.exists`, `tool.name`, `tool.schema`, `tool.no_function`; each names the
  ///         tool.
  Result<void> add_tool(ToolDefinition tool);
  /// Removes all tools of a name, also standard ones. Running calls finish.
  /// Errors: kUsage `tool.unknown`, with the most similar name.
  Result<void> remove_tool(std::string_view name);
  /// Removes all tools.
  Result<void> clear_tools();
  /// Whether a tool has that name, even if no agent may call it.
  [[nodiscard]] bool has_tool(std::string_view name) const;
  /// Enables or disables the tools of a name (`tool.disabled`).
  /// Errors: kUsage `tool.unknown`; kRefused `tool.disabled` if galley.toml disables the tool.
  Result<void> enable_tool(const std::string& name, bool is_enabled);
  /// Returns the tools that `agent` can call here, in the order in which they were added.
  Result<std::vector<ToolInfo>> tools(const std::string& agent = {}) const;
  /// Returns the tool that a call of that name would run.
  /// Errors: as for a call of a tool that `agent` cannot call: `tool.unknown` and so on.
  Result<ToolInfo> tool(std::string_view name, const std::string& agent = {}) const;
  /// Whether the arguments of a call are valid.
  struct ValidationResult {
    bool valid = true;
    std::vector<std::string> errors = {};  ///< one line each; empty if they are valid
  };
  /// Checks the arguments of a call. It runs and records nothing.
  /// Errors: as for a call of a tool that `agent` cannot call: `tool.unknown` and so on.
  Result<ValidationResult> check_call(std::string_view tool, std::string_view json_arguments,
                                      const std::string& agent = {}) const;
  /// The health of a tool.
  struct HealthStatus {
    bool healthy = true;
    std::string error = {};  ///< why it is not healthy
  };
  /// Returns the health of a tool: the result of its own check, and whether it failed several times
  /// in a row.
  /// Errors: as tool().
  Result<HealthStatus> tool_health(const std::string& name, const std::string& agent = {}) const;

  // --- state of the workspace -------------------------------------------------------------------
  /// Returns the absolute path of the root.
  [[nodiscard]] const std::string& root_path() const;
  /// Returns why the existing `.galley` is not trusted (kRefused `state.not_believed`), or null. An
  /// untrusted `.galley` is ignored, and functions that write state return this error.
  [[nodiscard]] const Error* state_distrust() const;
  /// Returns why galley.toml is ignored (tolerates_bad_configuration), or null.
  [[nodiscard]] const Error* configuration_flaw() const;
  /// Returns notices for people, one line each: untrusted state and configuration, unknown tools,
  /// repairs.
  [[nodiscard]] const std::vector<std::string>& notices() const;

  /// Opens and recovers `.galley` after a person adopted it (`galley recover --adopt`), and records
  /// the adoption.
  Result<void> open_adopted_state();

 private:
  friend struct WorkspaceAccess;
  explicit Workspace(std::unique_ptr<WorkspaceState> state);
  std::unique_ptr<WorkspaceState> state_;
};

}  // namespace galley
