#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "staging/fs/directory.h"

namespace galley {

/// What a home is for.
enum class LayerUse : uint8_t {
  kOverlay,  ///< overlayfs layers: not every file system will do
  kCopy,     ///< plain files
};

/// A private directory (0700) on a file system that can hold an overlayfs upper layer.
///
/// Ownership: a home that open() made below $TMPDIR is removed, with all it holds, by the
///            destructor or, when the process was killed, by clear_abandoned_layer_homes(); a given
///            one stays.
/// Threads:   its const members may be called from several threads.
class LayerHome {
 public:
  /// Uses `wanted`, making it when it is missing; with an empty `wanted` makes a fresh one below
  /// $TMPDIR, /tmp, /var/tmp or /dev/shm, whichever first can hold an upper layer.
  /// Errors: kRefused `sandbox.unavailable` when there is none, naming what each place lacks.
  static Result<LayerHome> open(const std::string& wanted, LayerUse use = LayerUse::kOverlay);

  LayerHome(LayerHome&&) noexcept = default;
  LayerHome& operator=(LayerHome&&) = delete;
  ~LayerHome();

  /// Makes a home that outlives the process, and returns its path. remove_layer_home() removes it.
  static Result<std::string> make_lasting();

  [[nodiscard]] const WritableDirectory& directory() const { return *directory_; }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  LayerHome(std::unique_ptr<WritableDirectory> directory, std::string path,
            std::unique_ptr<WritableFile> held)
      : directory_(std::move(directory)), path_(std::move(path)), held_(std::move(held)) {}
  std::unique_ptr<WritableDirectory> directory_;
  std::string path_;
  std::unique_ptr<WritableFile> held_;  ///< locked while we live; null: the home stays
};

/// Clears the homes of open() below $TMPDIR and the usual places whose processes were killed: those
/// of this user alone, which no process holds. Returns their paths; a dry run clears nothing.
std::vector<std::string> clear_abandoned_layer_homes(bool dry_run);

/// Returns whether a home of make_lasting() is still there and ours alone: directories below
/// $TMPDIR may be removed at any time, and others may make one of the same name.
[[nodiscard]] bool is_layer_home(const std::string& path);
/// Removes a home of make_lasting() with all it holds. An absent one is no error; one that is not
/// ours is left alone.
[[nodiscard]] Result<void> remove_layer_home(const std::string& path);

/// Returns what an upper layer in this directory would lack; empty when it lacks nothing.
[[nodiscard]] std::string why_no_upper_layer(const WritableDirectory& directory);

}  // namespace galley
