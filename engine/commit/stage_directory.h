#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/commit/state_directory.h"
#include "staging/fs/directory.h"

namespace galley {

/// `stage/<id>/`: the place of one transaction that outlives its process, held by a flock on its
/// `owner` file while somebody works on it.
///
/// What it stages lies in `contents/<pool>/`, by content id, never changed and never taken away
/// while a stage refers to it. A stage refers to the pool that its file `pool` names, to the one of
/// its own id when there is none: so the reference is there before the pool is, and a fork, which
/// is made while its parent is held, refers to a pool that cannot go meanwhile.
///
/// Ownership: owns the directory and the lock; dropping it leaves the stage for others to adopt.
/// Threads:   confined to one thread.
/// Errors:    kNotFound `stage.not_found`; kTimeout `stage.busy` when a living process holds it.
class StageDirectory {
 public:
  /// A new stage under a random id.
  static Result<StageDirectory> create(const StateDirectory& state);
  /// Takes over a stage that nobody holds: its stager went away, by exit or by kill.
  static Result<StageDirectory> adopt(const StateDirectory& state, const std::string& id);

  [[nodiscard]] const std::string& id() const { return id_; }
  [[nodiscard]] const WritableDirectory& directory() const { return *directory_; }
  /// Where its contents are; made when it is not there yet.
  Result<std::unique_ptr<WritableDirectory>> open_contents(const StateDirectory& state) const;
  /// Refers to the contents of `parent` from now on, instead of its own, of which it has none yet.
  Result<void> share_contents(const StageDirectory& parent) const;
  /// Removes it and everything in it, and its contents unless another stage refers to them.
  static Result<void> remove(const StateDirectory& state, StageDirectory stage);

 private:
  StageDirectory(std::string id, std::unique_ptr<WritableDirectory> directory,
                 std::unique_ptr<WritableFile> owner)
      : id_(std::move(id)), directory_(std::move(directory)), owner_(std::move(owner)) {}
  static Result<StageDirectory> hold(const StateDirectory& state, const std::string& id);
  static Result<StageDirectory> hold_new(const StateDirectory& state, const std::string& id);

  std::string id_;
  std::unique_ptr<WritableDirectory> directory_;
  std::unique_ptr<WritableFile> owner_;
};

/// One stage as others see it.
struct StageInfo {
  std::string id;
  bool is_held = false;  ///< a living process works on it
  int64_t mtime_ns = 0;  ///< of its last change
  uint64_t bytes = 0;    ///< with its contents, unless other stages share them
};

/// All stages, newest first.
Result<std::vector<StageInfo>> list_stages(const StateDirectory& state);

/// The ids of stages that begin with these digits, sorted; none when `beginning` could begin no id.
Result<std::vector<std::string>> stage_ids(const StateDirectory& state, std::string_view beginning);

/// Contents to which no stage refers, left by processes that were killed: their names below
/// `contents/`. They stay so: only a stage that refers to contents can be forked.
Result<std::vector<std::string>> unused_contents(const StateDirectory& state);

struct TreeUse {
  uint64_t bytes = 0;      ///< of all files
  int64_t changed_ns = 0;  ///< when something there changed last (ctime); 0: it is empty
};
/// What lies below a directory, links not followed. What went away meanwhile or cannot be read (a
/// command that was killed leaves a directory of mode 000) is left out.
TreeUse tree_use(const Directory& directory);

}  // namespace galley
