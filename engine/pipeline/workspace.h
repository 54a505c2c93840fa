#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "base/tx_id.h"
#include "engine/pipeline/transaction.h"
#include "engine/pipeline/trust.h"
#include "engine/policy/config.h"
#include "engine/policy/gate.h"
#include "staging/fs/directory.h"

namespace galley {

class CommandRunner;
class StateDirectory;
class ToolRegistry;
struct AuditVerification;
struct WorkspaceState;

/// How a workspace is opened.
struct WorkspaceOptions {
  std::string config_file;          ///< instead of galley.toml at the root; any path
  Approver approver;                ///< answers `ask`; nobody there means no
  CommandRunner* runner = nullptr;  ///< for commands and command validators; null: none can run
  const Clock* clock = nullptr;     ///< null: the machine's
  bool recovers = true;             ///< false: leave what a crash left, to look at it first
  /// Open with the strict defaults (strict_defaults.h) when galley.toml cannot be read: for what
  /// only reads or repairs.
  bool tolerates_bad_configuration = false;
  /// What the person said outside the workspace (load_user_settings); by default nothing, so that
  /// nothing which the workspace's configuration executes or widens counts.
  UserSettings user;
};

/// One open stored transaction, for `status`.
struct StageStatus {
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

/// A directory under Galley's care: where transactions begin, and what they are committed to.
///
/// Invariant: opening writes nothing. `.galley/` is made by the first stored transaction or commit;
///            a workspace that has one and believes it is recovered when it is opened.
/// Ownership: owns the root's descriptor, the configuration and the standard tools.
/// Threads:   may be used from several threads, each with transactions of its own, which run side
///            by side and meet at the writer lock only. Root, configuration, trust and notices do
///            not change after open(); `.galley`, the audit log, the tools, and what validators
///            remember and run in are made, behind a lock, by the first thread that needs them. An
///            Approver, runner or clock of WorkspaceOptions is called from all of these threads.
///            take_up_state() needs the workspace for itself.
/// Errors:    kNotFound `workspace.not_found`, kInvalid `workspace.not_directory`, and everything
///            find_root, load_config and is_trusted say.
class Workspace {
 public:
  /// Opens the workspace that `path` lies in (find_root.h has the rules).
  static Result<std::unique_ptr<Workspace>> open(const std::string& path,
                                                 WorkspaceOptions options = {});
  ~Workspace();
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

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
  /// Drops one that resume() calls damaged (`stage.damaged`), which nobody can roll back. It is not
  /// known who staged what in it, so it has to be of the system's user who asks.
  /// Errors: kNotFound `stage.not_found`; kRefused `stage.not_yours`.
  Result<void> drop_damaged(const std::string& id);
  /// Stored transactions, oldest first.
  Result<std::vector<StageStatus>> stages() const;

  /// Asks the gate about a proposal made elsewhere (an undo).
  Result<Preview> judge(Proposal proposal, const TransactionOptions& who,
                        const std::function<void(const GateProgress&)>& on_progress = {});
  /// Judges and publishes a proposal made elsewhere; its contents must be in its store. An agent
  /// with a list of tools needs one in it that changes files.
  Result<CommitOutcome> commit(Proposal proposal, const TransactionOptions& who,
                               const CommitRequest& request);

  /// Says yes beforehand to one proposal that a rule asks about: the next judgement of exactly it
  /// takes that for an answer, and its commit uses it up. On record before it counts.
  /// Errors: kRefused `approval.by_agent` when `who` is an agent: only people approve.
  Result<void> approve(const ContentId& proposal, const std::string& by,
                       const TransactionOptions& who = {});

  /// Closes a log that was cut short with a record that says so, and appends the records of commits
  /// that it lacks, from their journals; returns how many.
  Result<size_t> restore_audit();
  /// Checks the audit log: every record, the chain, and that each commit of the history is on it.
  [[nodiscard]] Result<AuditVerification> verify_audit() const;

  /// The `.galley` directory, or null when nothing that is believed was ever kept here.
  [[nodiscard]] const StateDirectory* state() const;
  /// Why the `.galley` that is there is not believed (kRefused `state.not_believed`), or null:
  /// everything is as if it were not there, and what has to write state is refused with this.
  [[nodiscard]] const Error* state_doubt() const;
  /// Looks again, and recovers: `.galley` was adopted (adoption.h), which goes on record.
  Result<void> take_up_state();
  /// The tools that can be called here.
  Result<const ToolRegistry*> tools();

  [[nodiscard]] const std::string& root_path() const;
  [[nodiscard]] const Directory& root() const;
  /// What counts of the configuration: what nobody trusted is taken out of it (trust_part.h).
  [[nodiscard]] const Config& config() const;
  /// Why nothing of galley.toml counts (tolerates_bad_configuration), or null.
  [[nodiscard]] const Error* configuration_flaw() const;
  /// The part that has to be trusted, as the configuration has it.
  [[nodiscard]] const TrustPart& trust_part() const;
  /// What was not believed when it was opened, a line each.
  [[nodiscard]] const std::vector<std::string>& notices() const;
  [[nodiscard]] const Clock& clock() const;

 private:
  friend const WritableDirectory& writable_root(const Workspace& workspace);
  explicit Workspace(std::unique_ptr<WorkspaceState> state);
  std::unique_ptr<WorkspaceState> state_;
};

}  // namespace galley
