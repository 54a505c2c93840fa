#pragma once

#include <chrono>

#include "base/clock.h"
#include "engine/stages/run_folder.h"

namespace galley {

/// Waits until the processes below the supervisor of a run have slept for a moment: none of them
/// started, ended, computed or waited for a disk. Returns false if that did not happen in time.
///
/// A process that sleeps may write at any time, so this is no lock.
[[nodiscard]] bool wait_until_idle(const ProcessIdentity& supervisor, std::chrono::seconds patience,
                                   const Clock& clock);

}  // namespace galley
