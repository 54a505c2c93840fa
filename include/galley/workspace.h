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
struct WorkspaceState;
struct WorkspaceTree;

/// How a workspace is opened. The defaults are those of a program that trusts nothing it opens.
struct WorkspaceOptions {
  std::string config_file = {};                    ///< instead of galley.toml at the root; any path
  Approver approver = {};                          ///< answers `ask`; nobody there means no
  std::vector<ToolDefinition> tools = {};          ///< beside the standard ones, in this order
  ToolDefinition::Dependencies dependencies = {};  ///< what tools can be given when they are made
  /// Nothing can be staged or committed, and only tools that read can be called.
  bool reads_only = false;
  /// Commands see a fixed time, zone and locale, and no network (docs/tool-runs.md).
  bool is_deterministic = false;
  /// The program vouches for galley.toml: what it executes or widens counts (docs/trust.md).
  bool trusts_configuration = false;
  /// What the person who runs this process said in their own configuration counts: trusted
  /// workspaces, safe directories, hooks. The environment and the files are read at open.
  bool uses_personal_settings = false;
  bool recovers = true;  ///< false: leave what a crash left, to look at it first
  /// Open with strict defaults when galley.toml cannot be read: for what only reads or repairs.
  bool tolerates_bad_configuration = false;

  // For Galley's own rooms: types that are not installed.
  CommandRunner* runner = nullptr;  ///< for commands and command validators; null: the sandbox
  const Clock* clock = nullptr;     ///< null: the machine's
  std::shared_ptr<const UserSettings> user = nullptr;  ///< already loaded personal settings
  /// Shown in place of the files at the path; then nothing is kept or committed.
  std::shared_ptr<const WorkspaceTree> tree = nullptr;
};

/// A directory under Galley's care: where transactions begin, and what they are committed to.
///
/// Invariant: opening writes nothing. `.galley/` is made by the first stored transaction or commit;
///            a workspace that has one and believes it is recovered when it is opened.
/// Ownership: owns the root's descriptor, the configuration and the tools. Transactions borrow it.
/// Threads:   may be used from several threads, each with transactions of its own, which run side
///            by side and meet at the writer lock only. Root, configuration, trust and notices do
///            not change after open(); `.galley`, the audit log, the tools, and what validators
///            remember and run in are made, behind a lock, by the first thread that needs them. An
///            Approver, runner, tool or clock of WorkspaceOptions is called from all of these
///            threads. take_up_state() needs the workspace for itself.
/// Errors:    kNotFound `workspace.not_found`, kInvalid `workspace.not_directory`, `config.*`,
///            kRefused `workspace.foreign_owner`, kIo. Whatever writes state
///            answers kRefused `state.not_believed` where a `.galley` was not made here.
class Workspace {
 public:
  /// One open stored transaction, for `status`.
  struct Stage {
    std::string id;
    std::string agent;
    std::string message;
    int64_t begun_ns = 0;
    size_t changes = 0;
    bool is_held = false;          ///< another process has it open now
    bool is_of_this_user = false;  ///< of the system's user that this process acts as

    /// Whether a command of `agent` means it without naming it.
    [[nodiscard]] bool is_own(const std::string& name) const {
      return is_of_this_user && agent == name;
    }
  };

  /// What a person granted to an agent, or revoked from it.
  struct Grant {
    std::string agent;
    std::string capability;  ///< `custom:deploy`, `fs:write:src/**`
    bool is_revoked = false;
    std::string by;       ///< who said it, for the record
    int64_t said_ns = 0;  ///< wall clock
  };

  /// Opens the workspace that `path` lies in: the nearest directory upwards with a `.git` or a
  /// `.galley` that is believed, else the outermost one with a galley.toml, else `path` itself.
  /// Errors: those of the class; kInvalid `tool.*`, which names the tool, for one of options.tools.
  static Result<std::unique_ptr<Workspace>> open(const std::string& path,
                                                 WorkspaceOptions options = {});
  ~Workspace();
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  // --- transactions -----------------------------------------------------------------------------
  /// Begins a transaction in memory: no file is written before it is committed.
  Result<Transaction> begin(const TransactionOptions& options = {});
  /// Begins one in memory that shows `shown` (the tree as it was) to look at and to run commands
  /// on; it cannot be committed.
  Result<Transaction> begin_view(const Proposal& shown, const TransactionOptions& options = {});
  /// Begins one that outlives the process, under `.galley/stage/`.
  Result<Transaction> begin_stored(const TransactionOptions& options = {});
  /// Takes a stored one up again for `agent`, whoever began it: every call is judged by what both
  /// may do, and both are on record. The first digits of an id will do where they are unique. An
  /// empty id means the one that `agent` itself began, as the same user of the system. A `reason`
  /// that is not empty counts for what is done with it now, and for all of it where it had none.
  /// Errors: kNotFound `stage.not_found`; kUsage `stage.which`, with a list, when several could be
  ///         meant, or without an id all that are open are somebody else's.
  Result<Transaction> resume(const std::string& id = {}, const std::string& agent = {},
                             const std::string& reason = {});
  /// The whole id of the open transaction that `beginning` names; `beginning` itself where none
  /// begins so.
  /// Errors: kUsage, reason `stage.which`, where several do.
  Result<std::string> stage_named(const std::string& beginning) const;
  /// Drops one that resume() calls damaged (`stage.damaged`), which nobody can roll back; the first
  /// digits of its id will do where they are unique. It is not known who staged what in it, so it
  /// has to be of the system's user who asks.
  /// Errors: kNotFound `stage.not_found`; kRefused `stage.not_yours`.
  Result<void> drop_damaged(const std::string& beginning);
  /// Stored transactions, oldest first.
  Result<std::vector<Stage>> stages() const;
  /// Asks the gate about a proposal made elsewhere (what show() returns, an undo).
  Result<Preview> judge(Proposal proposal, const TransactionOptions& who,
                        const std::function<void(const Verdict::Progress&)>& on_progress = {});
  /// Judges and publishes a proposal made elsewhere. An agent with a list of tools needs one in it
  /// that changes files.
  Result<CommitOutcome> commit(Proposal proposal, const TransactionOptions& who,
                               const CommitRequest& request);
  /// Says yes beforehand to one proposal that a rule asks about: the next judgement of exactly it
  /// takes that for an answer, and its commit uses it up. On record before it counts.
  /// Errors: kRefused `approval.by_agent` when `who` is an agent: only people approve.
  Result<void> approve(const ContentId& proposal, const std::string& by,
                       const TransactionOptions& who = {});

  /// Says yes beforehand to one call that was refused with `call.needs_confirmation`: the next such
  /// call of the same agent with the same arguments uses it up. `id` is the one that the refusal
  /// names, or the first digits of it. On record before it counts.
  /// Errors: kRefused `approval.by_agent`; kNotFound `confirmation.not_found`.
  Result<void> confirm(const std::string& id, const std::string& by,
                       const TransactionOptions& who = {});
  /// The calls that wait for a yes, oldest first.
  Result<std::vector<CallOptions::Question>> asked_calls() const;

  // --- grants -----------------------------------------------------------------------------------
  // What an agent may do beside galley.toml, kept under `.galley/` (docs/policy.md). It counts from
  // the next call on, also of transactions that are open. On record before it counts.

  /// Gives an agent a capability, never one that galley.toml denies.
  /// Errors: kRefused `grant.by_agent` when `who` is an agent, `grant.wider_than_configuration`;
  ///         kInvalid `grant.agent`, `capability.invalid`; kQuota `limit.grants`.
  Result<void> grant(const std::string& agent, const std::string& capability, const std::string& by,
                     const TransactionOptions& who = {});
  /// Takes a capability from an agent, also one that galley.toml gives.
  /// Errors: as grant().
  Result<void> revoke(const std::string& agent, const std::string& capability,
                      const std::string& by, const TransactionOptions& who = {});
  /// What was said last of each agent and capability, oldest first.
  Result<std::vector<Grant>> grants() const;

  // --- history ----------------------------------------------------------------------------------
  // An id is a transaction's number; `@` is the newest and `@~2` the second before it.
  // Errors of all: kNotFound `history.not_found`, `history.pruned`; kUsage `history.bad_id`; kIo
  // `journal.damaged`.

  /// Takes a transaction back: a proposal of its own, which the gate judges and which can be undone
  /// in turn. Without an id the newest that stands and is no undo. What later commits changed is
  /// merged by lines, or is a Conflict with reason `undo.conflict`; Merge::kMarkers is as kLines
  /// here. NothingToCommit when the workspace already is as it was.
  /// Errors: kNotFound `history.nothing_to_undo`; kUsage `undo.unknown_path`, `undo.unknown_hunk`.
  Result<CommitOutcome> undo(std::string_view id = {}, const UndoOptions& options = {},
                             const TransactionOptions& who = {});
  /// Takes an undo back: the id is that of the undo or of what it took back, none the newest undo.
  /// Errors: kNotFound `history.nothing_to_redo`; kUsage `undo.not_undone`.
  Result<CommitOutcome> redo(std::string_view id = {}, const UndoOptions& options = {},
                             const TransactionOptions& who = {});
  /// Takes back what one call of a committed transaction changed, by its execution id: an undo of
  /// just its paths. Later calls of that transaction that changed the same paths are named, or
  /// taken back with it when `with_later`. One of an open transaction is taken back by
  /// Transaction::rollback_execution.
  /// Errors: kNotFound `rollback.unknown_execution`; kConflict `rollback.built_upon`,
  ///         `rollback.built_on` (the history has only what the transaction made of a path, so a
  ///         call that built on an earlier one cannot be taken back without it); kUsage
  ///         `rollback.open`, `rollback.not_committed`, `rollback.nothing`; kQuota
  ///         `rollback.too_many_paths`.
  Result<CommitOutcome> rollback_execution(const std::string& execution, bool with_later = false,
                                           const TransactionOptions& who = {});
  /// Committed transactions, newest first.
  Result<std::vector<TxSummary>> log(const HistoryFilter& filter = {}) const;
  /// What a transaction changed, with both sides; without the files that `agent` may not read.
  Result<Proposal> show(std::string_view id, const std::string& agent = {}) const;
  /// Which transaction wrote each line of a file. Renames and copies are followed.
  /// Errors: kNotFound; kRefused `blame.binary`, and the rule's reason when `agent` may not read
  ///         it.
  Result<Blame> blame(std::string_view path, const std::string& agent = {}) const;
  /// Runs one SELECT on the history's tables (docs/history.md), for at most ten seconds.
  /// Errors: kUsage `query.sql`, `query.not_read_only`; kTimeout `query.timeout`; kQuota
  ///         `query.memory`.
  Result<QueryResult> query(std::string_view sql) const;

  // --- tools ------------------------------------------------------------------------------------
  /// Adds a tool; calls that run go on with the tools they began with.
  /// Errors: kInvalid `tool.exists`, `tool.name`, `tool.schema`, `tool.no_function`; each names it.
  Result<void> add_tool(ToolDefinition tool);
  /// Takes a tool away, also a standard one: all of that name. Calls that run end as they would.
  /// Errors: kUsage `tool.unknown`, with the nearest name.
  Result<void> remove_tool(std::string_view name);
  /// Takes all tools away.
  Result<void> clear_tools();
  /// Whether there is a tool of that name, whoever may call it.
  [[nodiscard]] bool has_tool(std::string_view name) const;
  /// Lets the tools of a name be called, or not (`tool.disabled`).
  /// Errors: kUsage `tool.unknown`; kRefused `tool.disabled` for one that galley.toml disables.
  Result<void> enable_tool(const std::string& name, bool is_enabled);
  /// The tools that `agent` can call here, in the order in which they were added.
  Result<std::vector<ToolInfo>> tools(const std::string& agent = {}) const;
  /// The one of tools() that a call of that name reaches.
  /// Errors: as a call's, for a tool that `agent` cannot call: `tool.unknown` and so on.
  Result<ToolInfo> tool(std::string_view name, const std::string& agent = {}) const;
  /// What is wrong with the arguments of a call, a line each; empty when they are valid. Nothing
  /// is run, and nothing is on record.
  /// Errors: as a call's, for a tool that `agent` cannot call: `tool.unknown` and so on.
  Result<std::vector<std::string>> check_call(std::string_view tool,
                                              std::string_view json_arguments,
                                              const std::string& agent = {}) const;
  struct HealthStatus {
    bool healthy = true;
    std::string error = {};  ///< why not
  };
  /// Whether a tool is well: what its own check says, and whether it failed several times in a row.
  /// Errors: as tool().
  Result<HealthStatus> tool_health(const std::string& name, const std::string& agent = {}) const;

  // --- what was found ---------------------------------------------------------------------------
  /// Absolute path of the root.
  [[nodiscard]] const std::string& root_path() const;
  /// Why the `.galley` that is there is not believed (kRefused `state.not_believed`), or null:
  /// everything is as if it were not there, and what has to write state is refused with this.
  [[nodiscard]] const Error* state_doubt() const;
  /// Why nothing of galley.toml counts (tolerates_bad_configuration), or null.
  [[nodiscard]] const Error* configuration_flaw() const;
  /// What was not believed when it was opened, a line each.
  [[nodiscard]] const std::vector<std::string>& notices() const;

  /// Looks again, and recovers: the `.galley` was adopted, which goes on record.
  Result<void> take_up_state();

 private:
  friend struct WorkspaceAccess;
  explicit Workspace(std::unique_ptr<WorkspaceState> state);
  std::unique_ptr<WorkspaceState> state_;
};

}  // namespace galley
