#pragma once

#include <galley/edit.h>
#include <galley/error.h>
#include <galley/outcome.h>
#include <galley/path.h>
#include <galley/proposal.h>
#include <galley/tool.h>
#include <galley/verdict.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace galley {

class InnerTransaction;
class Overlay;
class Principals;
class StoredStage;
class Workspace;
class WritableDirectory;
enum class AuditKind : uint8_t;
struct Action;
struct AuditEvent;
struct ExecutorOptions;
struct EditOutcome;
struct StageOptions;
struct ToolResult;
struct WorkspaceState;

/// The options of a transaction: its agent, its other principals, and its restrictions.
struct TransactionOptions {
  std::string agent = {};    ///< the caller; selects the profile in galley.toml; may be empty
  std::string message = {};  ///< the reason; stored with the commit
  /// stage_with_markers was called, so the built-in validator `conflict_markers` judges it too.
  bool has_markers = false;
  /// The agent's session that its commits belong to: at most 128 printable ASCII characters. Empty:
  /// that of the workspace (WorkspaceOptions::session), or else that of the stored transaction.
  std::string session = {};
  /// The agent that began the transaction, if it is not `agent`.
  std::optional<std::string> owner = std::nullopt;
  /// Other agents that staged changes in it. A change that is denied to one of them is not
  /// committed.
  std::vector<std::string> contributors = {};
  /// The transaction only shows the result of the changes and is never committed. Only its tool
  /// calls, and the edits of an agent, are recorded. Commands run without the network, and no tool
  /// acts outside the tree.
  bool is_preview = false;
  /// Nothing can be staged or committed, and only tools that read can be called.
  bool reads_only = false;
  /// Commands see a fixed time, zone and locale, and no network (docs/tools.md).
  bool is_deterministic = false;
  /// A stop request ends the validators and fixers of this transaction. They return an Error
  /// (`gate.cancelled`, `sandbox.cancelled`). Calls have their own (CallOptions).
  std::stop_token stop = {};

  /// The transactions that it undoes. A symbolic link that one of them removed may come back
  /// although it leads outside: to a person each, to an agent if nobody else changed its path
  /// since.
  std::vector<TxId> takes_back = {};
  /// A person asked for this undo. What a validator finds in a file that gets back exactly what it
  /// had before one of `takes_back`, or anywhere if all paths do, is only a warning of the receipt.
  bool accepts_returned = false;

  // --- for Galley's own rooms: types that are not installed -------------------------------------
  /// Returns all agents whose rules apply: the caller, the owner, the contributors.
  [[nodiscard]] Principals principals() const;
};

/// The options of a commit.
struct CommitRequest {
  std::string tool = "commit";  ///< the command or tool that asks, for the record
  /// If set, only this proposal is committed, so a commit cannot contain unreviewed changes.
  std::optional<ContentId> expected = {};
  std::optional<TxId> undoes = {};
  std::vector<TxId> also_undoes = {};  ///< undone together with `undoes`
  /// Another program already made the change and the gate only records it: every path must hold
  /// the new state, and no file is written.
  bool is_in_place = false;
  std::function<void(const Verdict::Progress&)> on_progress = {};
  /// As TransactionOptions::stop. A request before the commit point ends the commit, which then has
  /// no effect.
  std::stop_token stop = {};
  std::string call_id = {};  ///< the caller's own id of the call that asks; on record
};

/// The result of staging edits. It is true only if all edits fit. If one does not fit, nothing is
/// staged, or with EditOptions::reject only the edits that fit. The report then shows the place and
/// possible matches. The compiler warns about a result that is not used.
///
///     const auto edited = transaction.edit("a.txt", "old", "new");
///     if (!edited) return try_again(edited.report());
///
/// Ownership: a value; shares its report.
class [[nodiscard]] EditResult {
 public:
  explicit operator bool() const { return !error_; }
  /// Returns why the first edit does not fit (`patch.*`, `edit.*`), or why nothing could be tried.
  /// Only valid if the result is false.
  [[nodiscard]] const Error& error() const { return *error_; }
  /// Whether something is staged: everything, or with EditOptions::reject the edits that fit.
  [[nodiscard]] bool is_staged() const;
  /// A report for people and models, in several lines: the staged edits and how they were matched.
  /// For each edit that does not fit it shows the place, the difference and a remedy. Not escaped
  /// for a terminal.
  [[nodiscard]] std::string report() const;
  /// The report for programs: `edit_report` of docs/json/galley.schema.json. `{}` if the attempt
  /// failed.
  [[nodiscard]] std::string json() const;

  // --- for Galley's own rooms: types that are not installed -------------------------------------
  EditResult(Result<EditOutcome> outcome);  // NOLINT(google-explicit-constructor)
  [[nodiscard]] Result<EditOutcome> outcome() const;

 private:
  std::optional<Error> error_;
  std::shared_ptr<const EditOutcome> outcome_;  ///< null if the attempt failed
};

/// The result of a tool call. The compiler warns about a result that is not used.
///
/// Ownership: a value; shares its contents.
class [[nodiscard]] CallResult {
 public:
  /// Whether the call succeeded.
  explicit operator bool() const { return !error_; }
  /// Returns why the call failed; then nothing of it is staged. Only valid if the result is false.
  [[nodiscard]] const Error& error() const { return *error_; }
  /// Returns the tool's result as the text of a JSON object; `{}` if the call failed.
  [[nodiscard]] std::string json() const;
  /// Returns the whole result, with the code, times and details of an error:
  /// docs/json/tool-result.schema.json.
  [[nodiscard]] std::string document() const;

  // --- for Galley's own rooms: types that are not installed -------------------------------------
  CallResult(ToolResult result);  // NOLINT(google-explicit-constructor)
  [[nodiscard]] const ToolResult& result() const { return *result_; }

 private:
  std::optional<Error> error_;
  std::shared_ptr<const ToolResult> result_;
};

/// One atomic change of a workspace: many staged edits, then one commit or none.
///
///     begin -> stage* -> preview* -> commit    (Receipt | Refused | Conflict | NothingToCommit)
///                    \-> destructor or rollback: the workspace is unchanged
///
/// Invariant: only a commit writes under the workspace root, and only after a gate approved the
///            proposal. A staging call that fails changes nothing. One executor performs every
///            change of the staged files. It refuses a change if none of the caller's tools has the
///            same effect. It records changes of a stored transaction at once, and those of one in
///            memory with the commit or rollback. It records refusals at once.
/// Ownership: owns its overlay; borrows the Workspace, which must outlive it. While a stored
///            transaction is open, it holds the lock of its stage directory.
/// Threads:   confined to one thread; distinct transactions may run side by side.
/// Errors:    a refusal or a conflict is an outcome, not an Error. After an Error from commit the
///            workspace is untouched, or marked for recovery (ErrorKind::kUndecided).
class Transaction {
 public:
  class CallQueue;  ///< calls on a thread of its own (galley/call_queue.h)

  Transaction(Transaction&&) noexcept;
  Transaction& operator=(Transaction&&) noexcept;
  ~Transaction();

  /// Sets the reason that is stored with the commit if the options have none.
  void set_default_message(std::string message);

  // --- staging ------------------------------------------------------------------------------
  // Paths are relative to the root, or absolute inside it. Errors of all: kInvalid `path.*`,
  // kRefused `path.*`, `policy.*`, kNotFound `path.not_found`, kUsage `transaction.over`, kConflict
  // `conflict.changed_on_disk`, kQuota `limit.*`, kIo.

  /// Stages the contents of a file, and its missing parents. An existing file keeps its mode.
  Result<void> write(std::string_view path, std::string content);
  /// Replaces `old_text`. It must occur exactly once, unless `replace_all` is true.
  EditResult edit(std::string_view path, std::string_view old_text, std::string_view new_text,
                  bool replace_all = false);
  /// Stages the removal of a file or link, and of directories that become empty.
  Result<void> remove(std::string_view path);
  /// Stages a move of a file, link or directory to a path that does not exist.
  Result<void> move(std::string_view from, std::string_view to);
  /// Stages permission bits, masked with 0777.
  Result<void> chmod(std::string_view path, uint32_t mode);
  /// Stages a symbolic link to `target`. It may replace a file or link.
  Result<void> symlink(std::string_view path, const std::string& target);
  /// Stages a directory, with missing parents.
  Result<void> make_directory(std::string_view path);
  /// Stages all edits of a document of any format, or none.
  /// Errors: kInvalid `edit.*` for a document that cannot be read; kQuota `limit.patch_size`.
  EditResult apply(std::string document, const EditOptions& options = {});
  /// Returns the text of a proposed or existing file, for a person to edit; empty if it does not
  /// exist.
  /// Errors: kRefused with the reason of the rule, if a principal of this transaction may not read
  ///         or write the path; kInvalid `edit.no_file` for a directory or a link.
  Result<std::string> text_to_edit(std::string_view path);
  /// Stages the edited text, under the same conditions.
  Result<void> stage_edited(std::string_view path, std::string text);
  /// Stages several changes as one. If `steps` returns false or fails, everything it staged is
  /// reverted.
  Result<bool> stage_all(const std::function<Result<bool>()>& steps);
  /// Runs one tool by name with JSON arguments.
  CallResult call(const std::string& tool, std::string_view json_arguments,
                  const CallOptions& options = {});

  /// The result of a program that ran on the staged files.
  struct RunResult {
    std::optional<int> exit_code = {};  ///< absent if a signal ended the program
    std::optional<Error> breach = {};   ///< the limit that ended the program (`sandbox.*`)
    std::string standard_output = {};   ///< head and tail, within the limits of `[sandbox]`
    std::string standard_error = {};
    bool is_staged = false;  ///< false: the program's changes were dropped
    uint64_t staged_paths = 0;
    /// Changed paths that the program must not change. If there are any, nothing is staged.
    std::vector<std::string> refused = {};
  };
  /// Runs a program in the sandbox on the staged files, and stages its changes if it exits with 0.
  /// The policy treats it as the tool `Bash`. `argv[0]` is a path, or a name to look up on PATH.
  /// Errors: kRefused `sandbox.unavailable`, `capability.missing`; kNotFound
  ///         `sandbox.program_not_found`.
  Result<RunResult> run(const std::vector<std::string>& argv, const CallOptions& options = {});

  /// From now on appends every tool call, with its full contents and result, to this file
  /// (docs/library.md). A missing file is created with mode 0600. Values of secrets become
  /// their placeholders.
  /// Errors: kUsage `transcript.in_workspace`; kRefused `transcript.mode`; kIo.
  Result<void> transcribe_to(const std::string& file);

  // --- reading the proposed tree ----------------------------------------------------------------
  /// Returns the bytes of a file in the proposed tree.
  Result<std::string> read(std::string_view path);
  /// Returns the node of a path in the proposed tree, without its contents. A missing path is
  /// kAbsent.
  Result<Node> look(std::string_view path);
  Result<Node> look(const RelPath& path);
  /// Returns the names in a directory of the proposed tree, sorted. Names of directories end with
  /// `/`. An empty path is the root.
  Result<std::vector<std::string>> list(std::string_view path);
  /// Returns a frozen copy of the staged changes.
  [[nodiscard]] Proposal proposal() const;

  // --- deciding -----------------------------------------------------------------------------
  /// Freezes the staged changes and returns the gate's verdict on them. A commit does the same
  /// before it publishes.
  Result<Preview> preview(const std::function<void(const Verdict::Progress&)>& on_progress = {});
  /// Runs the validators with `fix = true` on the staged files, stages their fixes, returns them. A
  /// stored transaction keeps the earlier state under the savepoint `kBeforeFix`.
  Result<Proposal> fix();
  static constexpr const char* kBeforeFix = "before-fix";
  /// Commits the staged changes. After a Receipt the transaction is closed, unless a run still
  /// stages in it. After any other outcome it stays open. If other lines of a path changed on disk
  /// in the meantime, both changes are merged by lines. The result is judged again, and the receipt
  /// has a warning. The merge is off with CommitRequest::expected and with
  /// `commit.on_conflict = "refuse"`.
  Result<CommitOutcome> commit(const CommitRequest& request = {});
  /// Drops all staged changes and the stage directory.
  /// Errors: kRefused `policy.capability` if the caller is not the owner and may not write all
  ///         staged paths. The same holds for savepoint, rollback_to and fork.
  Result<void> rollback();

  // --- stored transactions --------------------------------------------------------------------
  /// Returns the id under `.galley/stage/`, or an empty string for a transaction in memory.
  [[nodiscard]] const std::string& id() const;
  /// Writes the staged changes to the stage directory. Does nothing for a transaction in memory.
  Result<void> save();
  [[nodiscard]] const TransactionOptions& options() const;
  /// Stores the staged state under a name. A name can be used again: the newest one counts. Only
  /// for stored transactions.
  Result<void> savepoint(const std::string& name);
  /// Returns how many paths differed from the workspace at the newest savepoint of this name.
  Result<size_t> changes_at(const std::string& savepoint) const;
  /// Restores the staged state of a savepoint, and saves. Later savepoints are dropped.
  /// Errors: kNotFound `savepoint.not_found`.
  Result<void> rollback_to(const std::string& name);
  /// Reverts the changes of one call, edit or command, by its execution id. Merges the reversal by
  /// lines into the staged state, and saves. Later changes of other lines stay. If a later step
  /// built on this one, the function fails, or also reverts that step if `with_later` is true.
  /// Returns the ids of all reverted steps, newest first. With `options.dry_run` nothing changes.
  /// The reversal is recorded as a new step, which can be reverted, too.
  /// Errors: kNotFound `rollback.unknown_execution`; kConflict `rollback.conflict`,
  ///         `rollback.built_upon`, which names the later steps; kUsage `rollback.nothing`.
  Result<std::vector<std::string>> rollback_execution(const std::string& execution,
                                                      bool with_later = false,
                                                      const CallOptions& options = {});
  /// Drops all staged changes that are not in `part`, and saves. `part` is proposal() without some
  /// paths and hunks. The caller needs a tool that edits.
  Result<void> keep_part(const Proposal& part);
  /// Returns an independent stored transaction with the same staged changes, for example to try
  /// several candidates and commit one. After a save its cost does not depend on the staged
  /// changes.
  Result<Transaction> fork();
  /// After a Conflict: merges `proposal` into the current workspace, stages the result and saves.
  /// Lines that both sides changed get conflict markers. The gate refuses the result until the
  /// markers are gone. Returns the paths without lines, which cannot have markers. If there is such
  /// a path, nothing is staged.
  /// Errors: kRefused `markers.refused` with `commit.on_conflict = "refuse"`.
  Result<std::vector<Conflict::Path>> stage_with_markers(const Proposal& proposal);
  /// Returns why the changes of a run could not be staged, or null. Nothing can be committed until
  /// this is fixed.
  [[nodiscard]] const Error* unstaged_run() const;

 private:
  friend class InnerTransaction;
  friend class Workspace;
  friend const Overlay& overlay_of(const Transaction& transaction);
  struct State;
  explicit Transaction(std::unique_ptr<State> state);
  static Result<Transaction> of_stage(WorkspaceState& workspace, StoredStage stage,
                                      const std::string& caller, const std::string& reason = {});
  Result<RelPath> parse(std::string_view path) const;
  [[nodiscard]] StageOptions bounded(StageOptions options) const;
  Result<void> check_may_change_staged() const;
  Result<void> check_may_edit(const RelPath& path);
  [[nodiscard]] ExecutorOptions executor_options(const CallOptions& options) const;
  /// Every change of the staged files goes through this function.
  Result<void> pass(Action action, const std::function<Result<void>(AuditEvent&)>& effect,
                    const CallOptions& options = {});
  [[nodiscard]] Action own_step(AuditKind kind) const;
  Result<void> drop_stage();
  Result<void> collect_run();
  Result<void> take_up_run();
  Result<const WritableDirectory*> stage_directory() const;
  std::unique_ptr<State> state_;
};

}  // namespace galley
