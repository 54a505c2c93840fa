#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/commit/state_directory.h"
#include "staging/fs/directory.h"

namespace galley {

/// `stage/<id>/`: the place of one transaction that outlives its process, held by a flock on its
/// `owner` file while somebody works on it.
///
/// Ownership: owns the directory and the lock; dropping it leaves the stage for others to adopt.
/// Threads:   confined to one thread.
/// Errors:    kNotFound `stage.not_found`; kTimeout `stage.busy` when a living process holds it.
class Stage {
 public:
  /// A new stage under a random id.
  static Result<Stage> create(const StateDirectory& state);
  /// Takes over a stage that nobody holds: its stager went away, by exit or by kill.
  static Result<Stage> adopt(const StateDirectory& state, const std::string& id);

  [[nodiscard]] const std::string& id() const { return id_; }
  [[nodiscard]] const Directory& directory() const { return *directory_; }
  /// Removes it and everything in it.
  static Result<void> remove(const StateDirectory& state, Stage stage);

 private:
  Stage(std::string id, std::unique_ptr<Directory> directory, std::unique_ptr<File> owner)
      : id_(std::move(id)), directory_(std::move(directory)), owner_(std::move(owner)) {}
  static Result<Stage> hold(const StateDirectory& state, const std::string& id);

  std::string id_;
  std::unique_ptr<Directory> directory_;
  std::unique_ptr<File> owner_;
};

/// One stage as others see it.
struct StageInfo {
  std::string id;
  bool is_held = false;  ///< a living process works on it
  int64_t mtime_ns = 0;  ///< of its last change
  uint64_t bytes = 0;
};

/// All stages, newest first.
Result<std::vector<StageInfo>> list_stages(const StateDirectory& state);

/// Bytes of all regular files below a directory, links not followed.
Result<uint64_t> tree_bytes(const Directory& directory);

}  // namespace galley
