#pragma once

#include <optional>

#include "base/clock.h"
#include "engine/commit/publisher.h"
#include "engine/commit/state_directory.h"
#include "engine/commit/writer_lock.h"
#include "staging/fs/directory.h"

namespace galley {

/// Guards the start of a run's view: no process can publish between reading the history and the
/// mount, so position() is the commit that the view shows.
///
/// Hold it until the view is mounted and the run's note names its place. After that, every
/// publisher pins the view first.
///
/// Ownership: owns the writer lock; its destructor releases it.
/// Threads:   confined to one thread.
class RunStart {
 public:
  /// Takes the writer lock, completes what a dead process began, and creates RemovedDirectories. Of
  /// `options` it uses the lock's timeout, the audit log and the boot id.
  /// Errors: those of WriterLock::take and recover().
  static Result<RunStart> begin(const WritableDirectory& workspace, const StateDirectory& state,
                                const Clock& clock, const PublisherOptions& options);

  /// The newest transaction that the view shows; nullopt before the first.
  [[nodiscard]] std::optional<TxId> position() const { return position_; }

 private:
  RunStart(WriterLock lock, std::optional<TxId> position)
      : lock_(std::move(lock)), position_(position) {}

  WriterLock lock_;
  std::optional<TxId> position_;
};

}  // namespace galley
