#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "engine/commit/outcome.h"
#include "engine/commit/state_directory.h"
#include "engine/policy/config.h"
#include "engine/policy/gate.h"
#include "staging/fs/directory.h"
#include "staging/overlay/change_set.h"

namespace galley {

/// The store of the audit records that journals contain.
///
/// Invariant: a journal leaves `j/` only after settle() took its records, so a commit is recorded
///            even if its process died before it could add them.
/// Threads:   called under the writer lock.
class AuditSink {
 public:
  virtual ~AuditSink() = default;

  /// Adds the records of a commit that was just made.
  virtual Result<void> add(const std::vector<std::string>& records) = 0;
  /// Adds the records that are still missing, and makes all of them durable.
  virtual Result<void> settle(const std::vector<std::string>& records) = 0;
};

class WriterLock;

struct PublisherOptions {
  Durability durability = Durability::kFull;
  HardLinks hard_links = HardLinks::kBreak;
  std::chrono::milliseconds lock_timeout{10'000};
  WriterLock* lock = nullptr;  ///< if the caller holds it; null: publish() takes it
  /// For programs that watch the tree: called right before the first swap and right after the last
  /// one, also if the swaps were undone.
  std::function<void()> before_apply;
  std::function<void()> after_apply;
  /// Gets CommitMeta::audit after the commit, under the writer lock.
  AuditSink* audit = nullptr;
  /// Makes more records for CommitMeta::audit. Called when the number of the transaction is known
  /// and nothing prevents the commit, before anything is written. An Error ends the commit.
  std::function<Result<std::vector<std::string>>(TxId)> records;
  /// Makes the views of live runs keep their present contents of these paths. Called under the
  /// writer lock before anything is written, if runs may be live (see RemovedDirectories). An Error
  /// ends the commit.
  std::function<Result<void>(const ChangeSet&)> pin_views;
  /// Another program made the change already: every path must hold its new state, and only the
  /// journal is written. A path that holds something else is a conflict.
  bool is_in_place = false;
  /// A request before the commit point ends the commit.
  std::stop_token stop;
  /// Replaces current_boot_id() in tests.
  std::optional<std::string> boot_id;

  /// Checked right before the commit point.
  /// Errors: kTimeout `commit.cancelled`.
  [[nodiscard]] Result<void> check_not_stopped() const;
};

/// The only code that commits changes to the workspace.
///
/// Invariant: all touched paths of the workspace are in their old state or all are in their new
///            state. Else there is a journal from which the next open makes one of these two
///            states. See publisher.cc for the state machine.
/// Ownership: borrows the workspace and the clock.
/// Threads:   confined to one thread; any number of publishers of one workspace, in any processes,
///            take turns by the writer lock.
/// Errors:    a conflict is an outcome. After an Error nothing has changed, except after
///            kUndecided. Then the commit point was passed, and the next open decides. It cannot
///            decide after `commit.state_lost`, because `.galley` was removed meanwhile. kTimeout
///            `commit.locked`, `commit.cancelled`, kRefused `commit.hard_link`,
///            `commit.crosses_mount`, `path.*`, kIo `journal.damaged`, kUsage `commit.empty`,
///            kQuota `limit.*`.
class Publisher {
 public:
  Publisher(const WritableDirectory& workspace, const Clock& clock, PublisherOptions options = {});

  /// Publishes the proposal that `approval` names; creates `.galley` if it does not exist.
  Result<PublishOutcome> publish(const Proposal& proposal, const Approval& approval,
                                 const CommitMeta& meta);
  /// Returns the conflict that publish() would be now, if any. Takes no lock and writes nothing.
  [[nodiscard]] Result<std::optional<Conflict>> find_conflict(const Proposal& proposal) const;

 private:
  class Attempt;

  const WritableDirectory* workspace_;
  const Clock* clock_;
  PublisherOptions options_;
};

}  // namespace galley
