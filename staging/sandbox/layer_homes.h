#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "staging/fs/directory.h"
#include "staging/sandbox/layer_home.h"
#include "staging/sandbox/sandbox.h"

namespace galley {

/// The two places in which the layers of one sandbox lie.
///
///     upper home   run/<n>      the upper layer of one command, absorbed or dropped
///                  keep/        Command::keep, unless SandboxOptions::keep_home names a place
///     lower home   changes/<n>  shows a change set
///                  scratch/     what git ignores, and a whiteout that hides `.galley`
///
/// Both are one directory unless the upper home lies in the workspace. A lower layer must not lie
/// in another one (ELOOP), and the workspace is one; an upper layer may.
///
/// Ownership: owns both homes.
/// Threads:   its const members may be called from several threads.
class LayerHomes {
 public:
  /// Opens the homes that `options` names, or makes private ones. `options.workspace` is canonical.
  /// Errors: kRefused `sandbox.unavailable` when no place can hold the layers.
  static Result<LayerHomes> open(const SandboxOptions& options, LayerUse use);

  /// Makes the folders, and erases what a process that was killed left in run/ and changes/.
  Result<void> prepare(const Directory& workspace, LayerUse use) const;

  [[nodiscard]] const LayerHome& upper() const { return upper_; }
  [[nodiscard]] const LayerHome& lower() const { return lower_ ? *lower_ : upper_; }
  [[nodiscard]] std::string scratch_path() const { return lower().path() + "/scratch"; }
  [[nodiscard]] Result<std::unique_ptr<WritableDirectory>> open_scratch() const;

 private:
  explicit LayerHomes(LayerHome upper) : upper_(std::move(upper)) {}

  LayerHome upper_;
  std::optional<LayerHome> lower_;  ///< nothing: the upper home is the lower one too
};

}  // namespace galley
