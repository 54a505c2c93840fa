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

/// How a transaction begins, and in whose names it goes on.
struct TransactionOptions {
  std::string agent = {};    ///< who asks; picks the profile in galley.toml; may be empty
  std::string message = {};  ///< why; kept with the commit
  /// stage_with_markers was called: the built-in validator `conflict_markers` judges it, too.
  bool has_markers = false;
  /// Who began it, when that is not who asks now.
  std::optional<std::string> owner = std::nullopt;
  /// Others that staged something in it: what they may not do is not committed either.
  std::vector<std::string> contributors = {};
  /// Only to look what would become of it: it is never committed, its calls of tools alone are on
  /// record, no command has the network, and no tool acts outside of the tree.
  bool is_preview = false;
  /// Nothing can be staged or committed, and only tools that read can be called.
  bool reads_only = false;
  /// Commands see a fixed time, zone and locale, and no network (docs/tool-runs.md).
  bool is_deterministic = false;
  /// A request ends the validators and fixers that run for it; the answer is then an Error
  /// (`gate.cancelled`, `sandbox.cancelled`). Calls have one of their own (CallOptions).
  std::stop_token stop = {};

  // --- for Galley's own rooms: types that are not installed -------------------------------------
  /// Everybody that counts in a judgement: who asks, the owner, the contributors.
  [[nodiscard]] Principals principals() const;
};

/// How a commit is asked for.
struct CommitRequest {
  std::string tool = "commit";  ///< what is recorded as having asked
  /// When given, only exactly this proposal is committed: what was reviewed is what lands.
  std::optional<ContentId> expected = {};
  std::optional<TxId> undoes = {};
  std::function<void(const Verdict::Progress&)> on_progress = {};
};

/// What became of an edit that was to be staged. It is true only when every edit of it fits; when
/// one does not, nothing is staged (with EditOptions::reject: what fits), and the report says where
/// and what would fit. A dropped result warns.
///
///     const auto edited = transaction.edit("a.txt", "old", "new");
///     if (!edited) return try_again(edited.report());
///
/// Ownership: a value; shares what it tells of.
class [[nodiscard]] EditResult {
 public:
  explicit operator bool() const { return !error_; }
  /// Why it is false: the first thing that does not fit (`patch.*`, `edit.*`), or what kept us from
  /// finding out. May only be asked when it is false.
  [[nodiscard]] const Error& error() const { return *error_; }
  /// Something of it is staged: all, or with EditOptions::reject what fits.
  [[nodiscard]] bool is_staged() const;
  /// For people and models, several lines: what was staged and how, or for each edit that does not
  /// fit the place, the difference and the way out. Not escaped for a terminal.
  [[nodiscard]] std::string report() const;
  /// The same for programs: `edit_report` of docs/json/galley.schema.json. `{}` when we could not
  /// find out.
  [[nodiscard]] std::string json() const;

  // --- for Galley's own rooms: types that are not installed -------------------------------------
  EditResult(Result<EditOutcome> outcome);  // NOLINT(google-explicit-constructor)
  [[nodiscard]] Result<EditOutcome> outcome() const;

 private:
  std::optional<Error> error_;
  std::shared_ptr<const EditOutcome> outcome_;  ///< null when we could not find out
};

/// What became of a tool's call. A dropped result warns.
///
/// Ownership: a value; shares what it tells of.
class [[nodiscard]] CallResult {
 public:
  /// The tool did what it was asked for.
  explicit operator bool() const { return !error_; }
  /// Why it did not; nothing of the call is staged then. May only be asked when it is false.
  [[nodiscard]] const Error& error() const { return *error_; }
  /// What the tool answered: the text of a JSON object. `{}` when it did not.
  [[nodiscard]] std::string json() const;
  /// All of it, with code, times and particulars of an error: docs/json/tool-result.schema.json.
  [[nodiscard]] std::string document() const;

  // --- for Galley's own rooms: types that are not installed -------------------------------------
  CallResult(ToolResult result);  // NOLINT(google-explicit-constructor)
  [[nodiscard]] const ToolResult& result() const { return *result_; }

 private:
  std::optional<Error> error_;
  std::shared_ptr<const ToolResult> result_;
};

/// One atomic change to a workspace: many staged edits, then one publish or none.
///
///     begin -> stage* -> preview* -> commit    (Receipt | Refused | Conflict | NothingToCommit)
///                    \-> destructor or rollback: the workspace was never touched
///
/// Invariant: nothing under the workspace root is written before Publisher::publish, which only an
///            Approval from a Gate opens. A staging call that fails changes nothing. Whatever
///            changes what is staged passes the executor (engine/calls/executor.h): it is refused
///            when the caller's list of tools has nothing that does the same, and is on record, of
///            a stored transaction as it happens, of one in memory with its commit or rollback;
///            refusals at once.
/// Ownership: owns its Overlay; borrows the Workspace, which must outlive it. A stored transaction
///            holds the lock of its stage directory as long as it is open.
/// Threads:   confined to one thread; distinct transactions may run side by side.
/// Errors:    a refusal or a conflict is an outcome, not an Error. After an Error from commit the
///            workspace is untouched, or marked for recovery (ErrorKind::kUndecided).
class Transaction {
 public:
  Transaction(Transaction&&) noexcept;
  Transaction& operator=(Transaction&&) noexcept;
  ~Transaction();

  /// Why, where the options say nothing: kept with the commit.
  void set_default_message(std::string message);

  // --- staging ------------------------------------------------------------------------------
  Result<void> write(std::string_view path, std::string content);
  /// Replaces `old_text`, which must be found exactly once unless `replace_all`.
  EditResult edit(std::string_view path, std::string_view old_text, std::string_view new_text,
                  bool replace_all = false);
  Result<void> remove(std::string_view path);
  Result<void> move(std::string_view from, std::string_view to);
  /// Permission bits & 0777.
  Result<void> chmod(std::string_view path, uint32_t mode);
  Result<void> symlink(std::string_view path, const std::string& target);
  Result<void> make_directory(std::string_view path);
  /// Stages a whole edit document of any format, or nothing of it.
  /// Errors: kInvalid `edit.*` for a document that cannot be read; kQuota `limit.patch_size`.
  EditResult apply(std::string document, const EditOptions& options = {});
  /// What a person edits to make of a file that is proposed or on disk; empty when there is none.
  /// Errors: kRefused for a path that somebody of this transaction may not read or write, with the
  ///         reason of the rule; kInvalid `edit.no_file` for a directory or a link.
  Result<std::string> text_to_edit(std::string_view path);
  /// Stages what became of it, under the same conditions.
  Result<void> stage_edited(std::string_view path, std::string text);
  /// Several stagings as one: when `steps` says no or fails, what it staged is taken back.
  Result<bool> stage_all(const std::function<Result<bool>()>& steps);
  /// Runs one tool by name with JSON arguments.
  CallResult call(const std::string& tool, std::string_view json_arguments,
                  const CallOptions& options = {});

  /// What a program did that ran on what is staged.
  struct Ran {
    std::optional<int> exit_code = {};  ///< absent when a signal ended it
    std::optional<Error> breach = {};   ///< the limit that ended it (`sandbox.*`)
    std::string standard_output = {};   ///< the head and the tail, as far as `[sandbox]` keeps them
    std::string standard_error = {};
    bool is_staged = false;  ///< false: what it changed was dropped
    uint64_t staged_paths = 0;
    std::vector<std::string> refused = {};  ///< what it may not change; then nothing is staged
  };
  /// Runs a program in the sandbox on what is staged, and stages what it changed when it ends with
  /// 0. It counts as the tool `Bash`. `argv[0]` is a name to look up on PATH, or a path.
  /// Errors: kRefused `sandbox.unavailable`, `capability.missing`; kNotFound
  ///         `sandbox.program_not_found`.
  Result<Ran> run(const std::vector<std::string>& argv, const CallOptions& options = {});

  /// From here on puts every call of a tool, with its full contents and what came of it, down in
  /// this file (docs/transcripts.md), which is made with mode 0600 or added to. Values of secrets
  /// become their placeholders.
  /// Errors: kUsage `transcript.in_workspace`; kRefused `transcript.mode`; kIo.
  Result<void> transcribe_to(const std::string& file);

  // --- reading what is proposed -------------------------------------------------------------
  Result<std::string> read(std::string_view path);
  /// What the path holds in the proposed tree, without its contents; kAbsent is a value.
  Result<Node> look(std::string_view path);
  Result<Node> look(const RelPath& path);
  /// Names in a directory of the proposed tree, sorted; those of directories end in `/`. An empty
  /// path is the root.
  Result<std::vector<std::string>> list(std::string_view path);
  /// Everything that is staged, frozen.
  [[nodiscard]] Proposal proposal() const;

  // --- deciding -----------------------------------------------------------------------------
  /// Freezes what is staged and asks the gate. Commit is this plus its last step.
  Result<Preview> preview(const std::function<void(const Verdict::Progress&)>& on_progress = {});
  /// Stages what the validators with `fix = true` make of what is staged, as a change of its own:
  /// a stored transaction keeps what was before it under the savepoint `kBeforeFix`. Returns what
  /// they changed.
  Result<Proposal> fix();
  static constexpr const char* kBeforeFix = "before-fix";
  /// After a Receipt the transaction is over; after any other outcome it stays open. A path that
  /// changed on disk meanwhile is merged by lines where the changes are apart, judged again and
  /// told of in the receipt's warnings; not with `expected`, nor with `commit.on_conflict =
  /// "refuse"`.
  Result<CommitOutcome> commit(const CommitRequest& request = {});
  /// Drops everything that was staged, with its stage directory.
  /// Errors: kRefused `policy.capability` when the caller is not the owner and may not write what
  ///         is staged; of savepoint, rollback_to and fork as well.
  Result<void> rollback();

  // --- stored transactions --------------------------------------------------------------------
  /// The id under `.galley/stage/`, or empty for one that lives in memory.
  [[nodiscard]] const std::string& id() const;
  /// Writes what is staged to the stage directory; nothing to do in memory.
  Result<void> save();
  [[nodiscard]] const TransactionOptions& options() const;
  /// Names what is staged now; the newest of a name counts. Only for stored transactions.
  Result<void> savepoint(const std::string& name);
  /// How many paths differed from the workspace at the newest savepoint of this name.
  Result<size_t> changes_at(const std::string& savepoint) const;
  /// Goes back to what was staged then, and saves; later savepoints are dropped.
  /// Errors: kNotFound `savepoint.not_found`.
  Result<void> rollback_to(const std::string& name);
  /// Takes back what one call, edit or command staged, by its execution id: merged by lines into
  /// what is staged now, and saved. A later one that changed other lines stays; one that built on
  /// it is named, or taken back with it when `with_later`. Returns the ids of all that was taken
  /// back, newest first. With `options.dry_run` only tells. On record as a step of its own, which
  /// can be taken back in turn.
  /// Errors: kNotFound `rollback.unknown_execution`; kConflict `rollback.built_upon`, which names
  ///         the later ones, `rollback.conflict`; kUsage `rollback.nothing`.
  Result<std::vector<std::string>> rollback_execution(const std::string& execution,
                                                      bool with_later = false,
                                                      const CallOptions& options = {});
  /// Goes on with a part of what is staged, and saves: `part` is made of proposal() by leaving out
  /// paths and hunks. The caller needs a tool that edits.
  Result<void> keep_part(const Proposal& part);
  /// A child with the same things staged, on its own from now on: several candidates can be tried
  /// side by side and one be picked. Costs the same whatever is staged, once that is saved.
  Result<Transaction> fork();
  /// After a Conflict: stages `proposal` merged into the workspace as it is now, with conflict
  /// markers around the lines that both sides changed, and saves. The gate then refuses it until
  /// they are gone. Returns the paths that have no lines to put markers around; where there are any
  /// nothing was staged.
  Result<std::vector<Conflict::Path>> stage_with_markers(const Proposal& proposal);
  /// Why what a run left could not be staged: until that is mended nothing is committed. Or null.
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
  /// The one road: nothing that changes what is staged goes another way.
  Result<void> pass(Action action, const std::function<Result<void>(AuditEvent&)>& effect,
                    const CallOptions& options = {});
  [[nodiscard]] Action own_step(AuditKind kind) const;
  Result<void> drop_stage();
  Result<void> take_up_run();
  Result<const WritableDirectory*> stage_directory() const;
  std::unique_ptr<State> state_;
};

}  // namespace galley
