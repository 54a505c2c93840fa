#pragma once

#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "staging/overlay/overlay.h"
#include "staging/sandbox/absorb.h"
#include "staging/sandbox/command_runner.h"
#include "staging/sandbox/layer_homes.h"

namespace galley {

/// The upper layer of a command that has ended.
struct FinishedLayer {
  const WritableDirectory& upper;
  int64_t began_ns = 0;          ///< ReadBack::file_system_now() before the command was started
  std::vector<RelPath> deleted;  ///< deleted without a whiteout (the copy level)
};

/// Stages or drops the effects of a finished command according to its EffectsRule. The deadline is
/// kReadBackGrace after the wall limit of the command.
///
/// Ownership: borrows the homes and the clock.
/// Threads:   safe to share, on different overlays.
class ReadBack {
 public:
  ReadBack(const LayerHomes& homes, IgnoreRule is_ignored, const Clock& clock)
      : homes_(&homes), is_ignored_(std::move(is_ignored)), clock_(&clock) {}

  /// Returns the time stamp that the file system would give a file changed now. The clocks of the
  /// process differ from it by up to a tick.
  [[nodiscard]] Result<int64_t> file_system_now() const;

  /// Collects the files of `command.collect`, stages or drops the effects, and reports it in
  /// `result`. After an Error the overlay is unchanged.
  Result<void> take(const Command& command, const FinishedLayer& layer, Overlay& overlay,
                    CommandResult& result) const;

 private:
  [[nodiscard]] Deadline deadline(const Command& command, const CommandResult& result) const;
  Result<void> absorb(const Command& command, const FinishedLayer& layer, Overlay& overlay,
                      CommandResult& result) const;

  const LayerHomes* homes_;
  IgnoreRule is_ignored_;
  const Clock* clock_;
};

}  // namespace galley
