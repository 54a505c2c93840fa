#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "staging/fs/directory.h"
#include "staging/overlay/overlay.h"
#include "staging/sandbox/change_set_layer.h"
#include "staging/sandbox/sandbox.h"

namespace galley {

/// The use of a home.
enum class LayerUse : uint8_t {
  kOverlay,  ///< overlayfs layers, which not every file system supports
  kCopy,     ///< plain files
};

/// The mode of a home whose command runs as another user, who owns only directories below it.
inline constexpr uint32_t kSearchableDirectory = 0711;

/// A private directory (0700) on a file system that can hold an overlayfs upper layer.
///
/// Ownership: the destructor removes a home that open() made, with all its contents. If the process
///            is killed, clear_abandoned_layer_homes() does so later. A home that was given to
///            open() stays.
/// Threads:   its const members may be called from several threads.
class LayerHome {
 public:
  /// Uses `wanted` and makes it if it is missing. With an empty `wanted` makes a new one below
  /// $TMPDIR, /tmp, /var/tmp or /dev/shm: the first that can hold an upper layer.
  /// Errors: kRefused `sandbox.unavailable` when none can; it names what each place lacks.
  static Result<LayerHome> open(const std::string& wanted, LayerUse use = LayerUse::kOverlay);

  LayerHome(LayerHome&&) noexcept = default;
  LayerHome& operator=(LayerHome&&) = delete;
  ~LayerHome();

  /// Makes a home that outlives the process, and returns its path. remove_layer_home() removes it.
  static Result<std::string> make_persistent();

  [[nodiscard]] const WritableDirectory& directory() const { return *directory_; }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  LayerHome(std::unique_ptr<WritableDirectory> directory, std::string path,
            std::unique_ptr<WritableFile> held)
      : directory_(std::move(directory)), path_(std::move(path)), held_(std::move(held)) {}
  std::unique_ptr<WritableDirectory> directory_;
  std::string path_;
  std::unique_ptr<WritableFile> held_;  ///< locked while this object lives; null: the home stays
};

/// Clears the homes of open() below $TMPDIR and the usual places whose processes were killed: only
/// those of this user that no process holds. Returns their paths; a dry run clears nothing.
std::vector<std::string> clear_abandoned_layer_homes(bool dry_run);

/// Returns whether a home of make_persistent() still exists and belongs to this user alone.
/// Directories below $TMPDIR may be removed at any time, and other users may then make one of the
/// same name.
[[nodiscard]] bool is_layer_home(const std::string& path);
/// Removes a home of make_persistent() with all its contents. An absent home is not an error. A
/// home of another user is left alone.
[[nodiscard]] Result<void> remove_layer_home(const std::string& path);

/// Returns why this directory cannot hold an upper layer; empty when it can.
[[nodiscard]] std::string why_no_upper_layer(const WritableDirectory& directory);

/// The two directories for the layers of one sandbox.
///
///     upper home   run/<n>      the upper layer of one command, absorbed or dropped
///                  keep/        Command::keep, unless SandboxOptions::keep_home names a place
///     lower home   changes/<n>  shows a change set
///                  scratch/     what git ignores, and a whiteout that hides `.galley`
///
/// Both are one directory unless the upper home is in the workspace. A lower layer must not be
/// inside another lower layer (ELOOP), and the workspace is a lower layer. An upper layer may be
/// inside it.
///
/// Ownership: owns both homes.
/// Threads:   its const members may be called from several threads.
class LayerHomes {
 public:
  /// Opens the homes that `options` names, or makes private ones. `options.workspace` is canonical.
  /// Errors: kRefused `sandbox.unavailable` when no place can hold the layers.
  static Result<LayerHomes> open(const SandboxOptions& options, LayerUse use);

  /// Makes the folders, and erases what killed processes left in run/ and changes/.
  Result<void> prepare(const Directory& workspace, LayerUse use) const;

  [[nodiscard]] const LayerHome& upper() const { return upper_; }
  [[nodiscard]] const LayerHome& lower() const { return lower_ ? *lower_ : upper_; }
  [[nodiscard]] std::string scratch_path() const { return lower().path() + "/scratch"; }
  [[nodiscard]] Result<std::unique_ptr<WritableDirectory>> open_scratch() const;

 private:
  explicit LayerHomes(LayerHome upper) : upper_(std::move(upper)) {}

  LayerHome upper_;
  std::optional<LayerHome> lower_;  ///< nothing: the upper home is the lower one, too
};

/// The layers that show change sets. Commands that run on the same change set share one.
///
/// Invariant: a layer is not written to while a command holds it.
/// Ownership: borrows the home and the workspace.
/// Threads:   safe to share.
class LayerCache {
 public:
  struct Layer {
    ChangeSetLayer layer;
    std::string path;  ///< absolute
  };

  LayerCache(const LayerHome& home, const Directory& workspace)
      : home_(&home), workspace_(&workspace) {}

  /// Returns a layer that shows these changes, or null when there are none. The layer does not
  /// change while the pointer is held.
  Result<std::shared_ptr<const Layer>> layer_of(const ChangeSet& changes,
                                                const ContentStore& store);

 private:
  Result<std::shared_ptr<Layer>> make_layer();

  const LayerHome* home_;
  const Directory* workspace_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<Layer>> layers_;
  uint64_t next_number_ = 1;
};

}  // namespace galley
