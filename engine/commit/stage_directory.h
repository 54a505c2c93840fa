#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/commit/state_directory.h"
#include "staging/fs/directory.h"

namespace galley {

/// `stage/<id>/`: the folder of one transaction that outlives its process, held by a flock on its
/// `owner` file while a process works on it.
///
/// Its staged contents are in a pool, `contents/<pool>/`, by content id. They never change, and are
/// not removed while a stage refers to the pool. The file `pool` of a stage names its pool. Without
/// that file the pool has the id of the stage. So the reference exists before the pool does. The
/// parent is held while a fork is made, so the pool cannot be removed meanwhile.
///
/// The transaction exists as long as its file `about` (engine/stages/stored_stage.h) does. The file
/// is written last and removed first, so a process that adopts a stage reads it under the lock.
///
/// Ownership: owns the directory and the lock; after its destruction another process may adopt the
///            stage.
/// Threads:   confined to one thread.
/// Errors:    kNotFound `stage.not_found`; kTimeout `stage.busy` when a living process holds it.
class StageDirectory {
 public:
  /// Creates a stage under a random id.
  static Result<StageDirectory> create(const StateDirectory& state);
  /// Takes over a stage that no process holds: the process that staged it exited or was killed.
  static Result<StageDirectory> adopt(const StateDirectory& state, const std::string& id);

  [[nodiscard]] const std::string& id() const { return id_; }
  [[nodiscard]] const WritableDirectory& directory() const { return *directory_; }
  /// Opens the folder of its contents; creates it when it does not exist yet.
  Result<std::unique_ptr<WritableDirectory>> open_contents(const StateDirectory& state) const;
  /// From now on refers to the contents of `parent` instead of its own, which must still be empty.
  Result<void> share_contents(const StageDirectory& parent) const;
  /// Removes the stage, and its contents unless another stage refers to them. Other processes may
  /// try to adopt it meanwhile.
  static Result<void> remove(const StateDirectory& state, StageDirectory stage);

 private:
  StageDirectory(std::string id, std::unique_ptr<WritableDirectory> directory,
                 std::unique_ptr<File> owner)
      : id_(std::move(id)), directory_(std::move(directory)), owner_(std::move(owner)) {}
  static Result<StageDirectory> hold(const StateDirectory& state, const std::string& id);
  static Result<StageDirectory> hold_new(const StateDirectory& state, const std::string& id);

  std::string id_;
  std::unique_ptr<WritableDirectory> directory_;
  std::unique_ptr<File> owner_;
};

/// The error of a transaction that another process ended while this one opened it.
[[nodiscard]] Error stage_has_ended(const std::string& id);
/// Whether an error means that a transaction is not open (any more).
[[nodiscard]] inline bool is_stage_gone(const Error& error) {
  return error.reason == "stage.not_found";
}
/// How often a caller looks for another transaction if the one that it found has ended.
inline constexpr int kStageLooks = 8;

/// One stage as other processes see it.
struct StageInfo {
  std::string id;
  bool is_held = false;  ///< a living process works on it
  int64_t mtime_ns = 0;  ///< of its last change
  uint64_t bytes = 0;    ///< with its contents, unless other stages share them
};

/// The time of the last change in the folder of a stage.
[[nodiscard]] Result<int64_t> stage_changed_ns(const Directory& stage);

/// All stages, newest first.
Result<std::vector<StageInfo>> list_stages(const StateDirectory& state);

/// The ids of stages that begin with these digits, sorted; empty if no id can begin with
/// `beginning`.
Result<std::vector<std::string>> stage_ids(const StateDirectory& state, std::string_view beginning);

/// Names below `contents/` of contents that no stage refers to, left by killed processes. They stay
/// unused, because only a stage that refers to contents can be forked.
Result<std::vector<std::string>> unused_contents(const StateDirectory& state);

struct TreeUse {
  uint64_t bytes = 0;      ///< of all files
  int64_t changed_ns = 0;  ///< the last change of any entry (ctime); 0: it is empty
};
/// Sums up everything below a directory without following links. Leaves out entries that
/// disappeared meanwhile or cannot be read. (A killed command may leave a directory of mode 000.)
TreeUse tree_use(const Directory& directory);

}  // namespace galley
