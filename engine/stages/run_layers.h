#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/commit/state_directory.h"
#include "staging/fs/directory.h"

// What the runs of a stored transaction wrote over folders of the host (`galley run --layer`). It
// lies in the stage, so it goes with the transaction and every run of it finds it again:
//
//     layers/<n>/path    the folder of the host, absolute
//     layers/<n>/upper   what was written over it, as overlayfs keeps it
//     layers/<n>/work    overlayfs' own
//     layers/<n>/below   an empty folder, where the host had none

namespace galley {

struct RunLayer {
  std::string path;
  std::string home;  ///< below the stage: "layers/<n>"
  /// The host had no such folder when the layer was made: below it is "<home>/below", which is
  /// empty.
  bool is_over_nothing = false;
};

/// The layers of a stage, in the order in which they were made.
[[nodiscard]] Result<std::vector<RunLayer>> run_layers(const Directory& stage);

/// Those, after making the ones that are missing for `paths`.
[[nodiscard]] Result<std::vector<RunLayer>> need_run_layers(const WritableDirectory& stage,
                                                            const std::vector<std::string>& paths);

/// Removes all layers of a stage, those of its scratch home too (scratch_home.h).
[[nodiscard]] Result<void> drop_layers(const WritableDirectory& stage);

/// A layer of an open transaction in which something was written.
struct WrittenLayer {
  std::string path;   ///< of the host
  std::string place;  ///< where it lies, below `.galley`
  uint64_t written = 0;
};

/// Those of a transaction. Files, links and deletions count, and folders that the host has not.
[[nodiscard]] Result<std::vector<WrittenLayer>> written_layers(const StateDirectory& state,
                                                               const std::string& tx);

}  // namespace galley
