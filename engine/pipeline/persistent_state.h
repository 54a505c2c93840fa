#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/audit/audit.h"
#include "engine/audit/recorder.h"
#include "engine/commit/branch_publisher.h"
#include "engine/commit/leftovers.h"
#include "engine/commit/publisher.h"
#include "engine/commit/recovery.h"
#include "engine/commit/run_start.h"
#include "engine/commit/state_directory.h"
#include "engine/commit/writer_lock.h"
#include "engine/history/history.h"
#include "engine/pipeline/place.h"
#include "engine/pipeline/rules.h"
#include "staging/overlay/earlier_version.h"

namespace galley {

/// An object that is created by the first thread that needs it.
///
/// Invariant: a result of get() stays valid as long as this object, even after another set().
/// Threads:   any thread may call get(); the owner serialises set().
template <class T>
class LazyObject {
 public:
  [[nodiscard]] T* get() const { return object_.load(std::memory_order_acquire); }

  void set(std::unique_ptr<T> made) {
    made_.push_back(std::move(made));
    object_.store(made_.back().get(), std::memory_order_release);
  }

 private:
  std::vector<std::unique_ptr<T>> made_;
  std::atomic<T*> object_{nullptr};
};

/// The absolute path of the directory with the state of a branch. It is in the git directory that
/// all work trees of the repository share, and is made with the state.
[[nodiscard]] std::string home_of_branch(const GitBranch& branch);

/// The state of a workspace below `.galley`, and the only writer of the workspace's files.
///
/// Invariant: the writable directory is a private member, and no function returns it. Files are
///            written by a commit that a gate approved, by recovery, and by `galley init`.
/// Ownership: owns the descriptors of the workspace and of `.galley`; borrows place and rules.
/// Threads:   any, except during open(). Results of state() and audit() stay valid.
/// Errors:    functions that write return kRefused `state.not_believed` if `.galley` is not
///            trusted; kIo.
class PersistentState {
 public:
  /// `files` is the directory with `.galley`; null for a branch, where it may not exist yet.
  PersistentState(const Place& place, const Rules& rules, std::unique_ptr<WritableDirectory> files)
      : place_(&place), rules_(&rules) {
    if (files != nullptr) files_.set(std::move(files));
  }

  // --- the state directory ----------------------------------------------------------------------
  /// Opens `.galley` if it exists and is trusted. With `recovers` it finishes or reverts
  /// interrupted transactions. Returns notices for people, one line each.
  Result<std::vector<std::string>> open(bool recovers);
  /// Returns why the existing `.galley` is ignored, or null.
  [[nodiscard]] const Error* doubt() const { return doubt_ ? &*doubt_ : nullptr; }
  [[nodiscard]] Result<void> check_trusted() const {
    return doubt_ ? Result<void>(*doubt_) : Result<void>();
  }
  /// Returns the state, or null without a trusted `.galley`.
  [[nodiscard]] const StateDirectory* state() const { return state_.get(); }
  [[nodiscard]] AuditLog* audit() const { return audit_.get(); }  ///< present with state()
  /// Opens a `.galley` that another process created in the meantime.
  Result<void> refresh();
  /// Whether another program, such as git-clean(1), removed the `.galley` in use.
  [[nodiscard]] bool is_removed() const;
  /// Forgets it, so that ensure() makes a new one. No other thread may use the workspace.
  void forget_state();
  /// Checks what ensure() checks before it creates `.galley`. Called before a program runs.
  [[nodiscard]] Result<void> check_owner() const;
  /// Creates `.galley` if it is missing.
  Result<void> ensure();
  /// Returns the absolute path of StateDirectory::own(). Needs a state.
  [[nodiscard]] std::string own_path(std::string_view name) const {
    return place_->home + "/.galley/" + state_.get()->own(name).str();
  }
  [[nodiscard]] const Clock& clock() const { return place_->clock(); }
  /// Takes the writer lock, and finishes or reverts what the previous holder left if it was killed.
  /// Waits at most `commit.lock_timeout_ms`. Needs a state.
  [[nodiscard]] Result<WriterLock> lock() const;
  [[nodiscard]] std::chrono::milliseconds lock_timeout() const {
    return std::chrono::milliseconds(rules_->config.commit.lock_timeout_ms);
  }

  // --- records and history ----------------------------------------------------------------------
  [[nodiscard]] Recorder recorder(RecordTime time = RecordTime::kAtOnce,
                                  std::string tx = {}) const {
    return {audit_, clock(), time, std::move(tx), rules_->config.other_file};
  }
  /// Returns the history. The error names the command `verb`.
  /// Errors: kNotFound `history.empty`.
  [[nodiscard]] Result<History> history(std::string_view verb);
  /// Checks the chain of audit records, and that it has a record of every commit.
  [[nodiscard]] Result<AuditVerification> verify_audit() const;
  /// Restores missing audit records from the journals. Returns their number.
  Result<size_t> restore_audit();

  // --- functions that write the workspace -------------------------------------------------------
  /// Publishes to the files, or to the branch of a git workspace, which needs `judged`.
  Result<PublishOutcome> publish(const Proposal& proposal, const Approval& approval,
                                 const CommitMeta& meta, PublisherOptions options,
                                 const JudgedTree& judged = {});
  /// Returns the conflict that publish() would be now, if any.
  [[nodiscard]] Result<std::optional<Conflict>> find_conflict(const Proposal& proposal) const;
  /// Holds the writer lock while a run gets its view. Needs a state.
  /// Errors: kRefused `git.no_runs` for a git workspace.
  Result<RunStart> begin_run() const;
  /// Finishes or reverts interrupted transactions. Without a state it does nothing.
  Result<RecoveryReport> recover(bool dry_run) const;
  /// Opens a `.galley` that is not trusted, to show a person the effects of adopting it.
  Result<StateDirectory> open_foreign() const {
    return StateDirectory::open_foreign(*files_.get());
  }
  Result<RecoveryReport> plan_recovery(const StateDirectory& foreign) const;
  /// Adopts such a `.galley`, after a person agreed.
  Result<void> adopt(StateDirectory& foreign) const { return foreign.adopt(*files_.get()); }
  Result<void> quarantine_damaged() const;
  Result<LeftoverReport> clear_leftovers(WriterLock& lock, const ClearOptions& options) const {
    return galley::clear_leftovers(*files_.get(), *state(), lock, clock(), options);
  }
  /// Writes galley.toml without a transaction, for `galley init`.
  /// Errors: kRefused `init.exists` if the file exists and `force` is false; those of
  ///         check_owner_of_root().
  Result<void> write_config(const std::string& text, bool force) const;

 private:
  /// An audit record that is stored in a journal.
  struct RecordedCommit {
    TxId id;
    bool is_retired = false;  ///< its journal has left j/
    std::string record;
  };

  void set_state(StateDirectory made);
  /// Whether the directory with `.galley` exists. Opens it if it was made since. Needs mutex_.
  Result<bool> find_home();
  Result<void> make_home();  ///< needs mutex_
  [[nodiscard]] Result<std::vector<RecordedCommit>> recorded_commits() const;

  const Place* place_;
  const Rules* rules_;
  LazyObject<WritableDirectory> files_;  ///< of the workspace, or the directory with the state
  std::optional<Error> doubt_;
  LazyObject<StateDirectory> state_;
  LazyObject<AuditLog> audit_;
  std::mutex mutex_;  ///< guards set() of the lazy objects; get() needs no lock
};

class PersistentState;

/// Returns a function that finds earlier contents of a path, to explain an edit that does not fit.
/// It returns nothing if the history cannot be read.
///
/// Ownership: borrows the workspace, which must outlive the function.
[[nodiscard]] EarlierVersions earlier_versions(const PersistentState& persistent);

}  // namespace galley
