#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "staging/fs/directory.h"

namespace galley {

enum class LayerUse : uint8_t {
  kOverlay,  ///< overlayfs layers: not every file system will do
  kCopy,     ///< plain files
};

/// A private directory (0700) on a file system that can hold an overlayfs upper layer.
///
/// Ownership: one that was made for us is removed with all it holds; a given one stays.
/// Threads:   its const members may be used side by side.
class LayerHome {
 public:
  /// Uses `wanted`, making it when it is missing; with an empty `wanted` makes a fresh one below
  /// $TMPDIR, /tmp, /var/tmp or /dev/shm, whichever first can hold an upper layer.
  /// Errors: kRefused `sandbox.unavailable` when there is none, naming what each place lacks.
  static Result<LayerHome> open(const std::string& wanted, LayerUse use = LayerUse::kOverlay);

  LayerHome(LayerHome&&) noexcept = default;
  LayerHome& operator=(LayerHome&&) = delete;
  ~LayerHome();

  /// Makes a fresh one that stays when we are gone; remove_layer_home() takes it away.
  static Result<std::string> make_lasting();

  [[nodiscard]] const WritableDirectory& directory() const { return *directory_; }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  LayerHome(std::unique_ptr<WritableDirectory> directory, std::string path, bool is_ours)
      : directory_(std::move(directory)), path_(std::move(path)), is_ours_(is_ours) {}
  std::unique_ptr<WritableDirectory> directory_;
  std::string path_;
  bool is_ours_;
};

/// Whether a lasting home is still there and still ours alone: what lies in a directory for
/// temporary files may be swept away, and others may put their own there.
[[nodiscard]] bool is_layer_home(const std::string& path);
/// Removes a lasting home with all it holds. Absent is fine; what is not ours is left alone.
[[nodiscard]] Result<void> remove_layer_home(const std::string& path);

/// Empty when an upper layer can lie in this directory, else what is missing.
[[nodiscard]] std::string why_no_upper_layer(const WritableDirectory& directory);

}  // namespace galley
