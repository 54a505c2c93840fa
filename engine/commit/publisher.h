#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "engine/commit/outcome.h"
#include "engine/commit/state_directory.h"
#include "engine/policy/config.h"
#include "engine/policy/gate.h"
#include "staging/fs/directory.h"
#include "staging/overlay/proposal.h"

namespace galley {

/// Where the audit records that journals carry are kept.
///
/// Invariant: a journal leaves `j/` only after settle() took its records, so a commit whose process
///            died before it could add them is on record all the same.
/// Threads:   called under the writer lock.
class AuditSink {
 public:
  virtual ~AuditSink() = default;

  /// Adds the records of a commit that was made just now.
  virtual Result<void> add(const std::vector<std::string>& records) = 0;
  /// Adds those that are not there yet, and makes all of them durable.
  virtual Result<void> settle(const std::vector<std::string>& records) = 0;
};

class WriterLock;

struct PublisherOptions {
  Durability durability = Durability::kFull;
  HardLinks hard_links = HardLinks::kBreak;
  std::chrono::milliseconds lock_timeout{10'000};
  /// Called right before the first swap and right after the last, also when the swaps were taken
  /// back: for programs that watch the tree.
  std::function<void()> before_apply;
  std::function<void()> after_apply;
  /// Gets CommitMeta::audit once the commit is done, under the writer lock.
  AuditSink* audit = nullptr;
  /// Makes more of CommitMeta::audit once the number of the transaction is known and nothing is in
  /// the way, before anything is written. An Error ends the commit.
  std::function<Result<std::vector<std::string>>(TxId)> records;
  /// Makes the views of live runs keep what they show of these paths, under the writer lock and
  /// before anything is written (Graveyard says when runs may be live). An Error ends the commit.
  std::function<Result<void>(const ChangeSet&)> pin_views;
  /// Stands in for current_boot_id() in tests.
  std::optional<std::string> boot_id;
};

/// The only code that writes to the workspace.
///
/// Invariant: the workspace holds the old tree or the new tree for every touched path, or a journal
///            from which the next open makes one of them. See publisher.cc for the state machine.
/// Ownership: borrows the workspace and the clock.
/// Threads:   confined to one thread; any number of publishers of one workspace, in any processes,
///            take turns by the writer lock.
/// Errors:    a conflict is an outcome. After an Error nothing has changed, except kUndecided: then
///            the commit point was passed and the next open decides, or nothing can any more
///            (`commit.state_lost`: somebody removed `.galley` meanwhile). kTimeout
///            `commit.locked`, kRefused `commit.hard_link`, `commit.crosses_mount`, `path.*`, kIo
///            `journal.damaged`, kUsage `commit.empty`, kQuota `limit.*`.
class Publisher {
 public:
  Publisher(const WritableDirectory& workspace, const Clock& clock, PublisherOptions options = {});

  /// Publishes the proposal that `approval` names; makes `.galley` when it is the first.
  Result<PublishOutcome> publish(const Proposal& proposal, const Approval& approval,
                                 const CommitMeta& meta);

 private:
  class Attempt;

  const WritableDirectory* workspace_;
  const Clock* clock_;
  PublisherOptions options_;
};

}  // namespace galley
