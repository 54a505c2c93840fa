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
#include "engine/commit/leftovers.h"
#include "engine/commit/publisher.h"
#include "engine/commit/recovery.h"
#include "engine/commit/run_start.h"
#include "engine/commit/state_directory.h"
#include "engine/commit/writer_lock.h"
#include "engine/history/history.h"
#include "engine/pipeline/place.h"
#include "engine/pipeline/rules.h"

namespace galley {

/// An object that is made after its owner, by the first thread that needs it.
///
/// Invariant: what get() returned stays valid as long as this, even if another one is set later.
/// Threads:   reading from any thread; set() by one thread at a time, under a lock of the owner.
template <class T>
class LateObject {
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

/// What a workspace keeps below `.galley`, and all that writes the files of the workspace.
///
/// Invariant: the right to write the tree is a private member that no function hands out. What is
///            written is what a gate approved, what recovery finishes or takes back, and
///            galley.toml for `galley init`.
/// Ownership: owns the descriptors of the tree and of `.galley`; borrows place and rules.
/// Threads:   any; open() needs it for itself. What state() and audit() returned stays.
/// Errors:    kRefused `state.not_believed` of what has to write where the `.galley` that is there
///            was not made here; kIo.
class KeptState {
 public:
  KeptState(const Place& place, const Rules& rules, std::unique_ptr<WritableDirectory> files)
      : place_(&place), rules_(&rules), files_(std::move(files)) {}

  // --- what is there ----------------------------------------------------------------------------
  /// Takes up `.galley` if there is one to believe, and finishes what a crash left when it
  /// `recovers`. Returns what a person should be told, a line each.
  Result<std::vector<std::string>> open(bool recovers);
  /// Why the `.galley` that is there is not taken up, or null.
  [[nodiscard]] const Error* doubt() const { return doubt_ ? &*doubt_ : nullptr; }
  [[nodiscard]] Result<void> check_belief() const {
    return doubt_ ? Result<void>(*doubt_) : Result<void>();
  }
  /// Null when nothing that is believed was ever kept here.
  [[nodiscard]] const StateDirectory* state() const { return state_.get(); }
  [[nodiscard]] AuditLog* audit() const { return audit_.get(); }  ///< present with state()
  /// Takes up a `.galley` that somebody made since.
  Result<void> look();
  /// Makes `.galley` when there is none.
  Result<void> need();
  /// Absolute path of what StateDirectory::own() names; there is a state.
  [[nodiscard]] std::string own_path(std::string_view name) const {
    return place_->path + "/.galley/" + state_.get()->own(name).str();
  }
  [[nodiscard]] const Clock& clock() const { return place_->clock(); }
  /// Who waits for it longer than `commit.lock_timeout_ms` is refused; there is a state.
  [[nodiscard]] Result<WriterLock> lock() const {
    return WriterLock::take(*state(), clock(), lock_timeout());
  }
  [[nodiscard]] std::chrono::milliseconds lock_timeout() const {
    return std::chrono::milliseconds(rules_->config.commit.lock_timeout_ms);
  }

  // --- what was done ----------------------------------------------------------------------------
  [[nodiscard]] Recorder recorder(RecordTime time = RecordTime::kAtOnce,
                                  std::string tx = {}) const {
    return {audit_, clock(), time, std::move(tx)};
  }
  /// The history, for a verb that needs one.
  /// Errors: kNotFound `history.empty`.
  [[nodiscard]] Result<History> history(std::string_view verb);
  /// The chain, and whether every commit of the history is in it.
  [[nodiscard]] Result<AuditVerification> verify_audit() const;
  /// Puts audit records that the log lacks back from the journals.
  Result<size_t> restore_audit();

  // --- what writes the tree ---------------------------------------------------------------------
  Result<PublishOutcome> publish(const Proposal& proposal, const Approval& approval,
                                 const CommitMeta& meta, PublisherOptions options);
  /// The moment in which a run gets its view; there is a state.
  Result<RunStart> begin_run() const;
  /// Finishes or takes back what a crash left; nothing where there is no state.
  Result<RecoveryReport> recover(bool dry_run) const;
  /// A `.galley` that is not believed, to show a person what recovery would do with it.
  Result<StateDirectory> open_foreign() const { return StateDirectory::open_foreign(*files_); }
  Result<RecoveryReport> plan_recovery(const StateDirectory& foreign) const;
  /// A person said yes to it.
  Result<void> adopt(StateDirectory& foreign) const { return foreign.adopt(*files_); }
  Result<void> quarantine_damaged(const WriterLock& lock) const;
  Result<LeftoverReport> clear_leftovers(WriterLock& lock, const ClearOptions& options) const {
    return galley::clear_leftovers(*files_, *state(), lock, clock(), options);
  }
  /// Writes galley.toml, which is no transaction: where it was missing there were no rules.
  /// Errors: kRefused `init.exists` when there is one and not `force`.
  Result<void> write_config(const std::string& text, bool force) const;

 private:
  /// A record that a journal of the history carries.
  struct RecordedCommit {
    TxId id;
    bool is_retired = false;  ///< its journal has left j/
    std::string record;
  };

  void set_state(StateDirectory made);
  [[nodiscard]] Result<std::vector<RecordedCommit>> recorded_commits() const;

  const Place* place_;
  const Rules* rules_;
  std::unique_ptr<WritableDirectory> files_;  ///< of the workspace
  std::optional<Error> doubt_;
  LateObject<StateDirectory> state_;
  LateObject<AuditLog> audit_;
  std::mutex mutex_;  ///< guards the making of both, which are read without it
};

}  // namespace galley
