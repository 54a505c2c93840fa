#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/commit/stage_directory.h"
#include "engine/commit/state_directory.h"
#include "staging/fs/content_store.h"
#include "staging/fs/directory.h"
#include "staging/overlay/overlay.h"
#include "staging/overlay/overlay_file.h"
#include "staging/overlay/staged_step.h"

// The message of the git commit that a tool of a stored transaction asked for: the file
// `git-commit` of its stage.

// The git-ignored outputs of a stored transaction's commands. They are layers under the next
// command, and overlayfs refuses a lower layer that is inside another one, here the workspace. So
// they are below $TMPDIR, in a private directory whose path is in the file `scratch-home` of the
// stage.

namespace galley {

/// The author and reason of a stored transaction.
struct StageHeader {
  std::string agent;
  std::string message;
  int64_t begun_ns = 0;
  bool has_markers = false;                    ///< the staged state has conflict markers
  std::vector<std::string> contributors = {};  ///< other agents that staged changes in it
  uint32_t uid = 0;                            ///< the system user that owns it
};

/// Whether `agent`, as this user of the system, began it.
[[nodiscard]] bool is_own(const StageHeader& about, const std::string& agent);

/// The files of a transaction that outlives its process, in its stage.
///
///     about       "galley stage 1", its start time, agent, reason
///     overlay     the staged state (staging/overlay/overlay_file.h); appended to, and replaced
///                 whole by rename when the appended part is longer than the rest; the previous
///                 one is overlay.new
///     calls       the changes of each call (staging/overlay/staged_step.h); appended to
///     markers     exists when conflict markers were staged
///     contributors  names of others that staged changes, one a line
///     pool        of a fork: the contents it shares (engine/commit/stage_directory.h)
///
/// `about` is written last: without it the transaction does not exist, and gc removes the rest.
/// Nothing here is synced: a power cut may lose staged changes, never a committed byte.
///
/// Ownership: owns the stage and its lock, which the kernel drops with the process.
/// Threads:   confined to one thread.
/// Errors:    StageDirectory's, and kInvalid `stage.damaged`.
class StoredStage {
 public:
  /// Creates a new one and holds it.
  static Result<StoredStage> create(const StateDirectory& state, const StageHeader& about);
  /// Makes another one with the same staged state, as last saved. Only the changes of the calls are
  /// copied, so the cost does not depend on the number of files.
  Result<StoredStage> fork(const StateDirectory& state, const StageHeader& about) const;
  /// Opens an existing one; waits at most `timeout` until another process releases it.
  static Result<StoredStage> open(const StateDirectory& state, const std::string& id,
                                  std::chrono::milliseconds timeout);

  /// Its author and reason, even while another process has it open.
  static Result<StageHeader> look_at(const StateDirectory& state, const std::string& id);

  [[nodiscard]] const std::string& id() const { return stage_.id(); }
  [[nodiscard]] const StageHeader& about() const { return about_; }
  [[nodiscard]] const WritableDirectory& directory() const { return stage_.directory(); }
  [[nodiscard]] const std::shared_ptr<ContentStore>& contents() const { return contents_; }

  /// The staged state when it was last saved; empty for a new one.
  Result<Overlay::Entries> load();
  /// Writes the difference to the entries that were last loaded or saved.
  Result<void> save(const Overlay::Entries& entries);
  /// The changes of each call so far; empty when no call was recorded.
  Result<std::vector<StagedStep>> load_steps() const;
  /// Adds the changes of further calls; drops the oldest beyond twice kMaxStepPaths. A damaged file
  /// stays unchanged, and load_steps() reports it.
  Result<void> add_steps(const std::vector<StagedStep>& steps) const;
  /// Records that conflict markers are staged.
  Result<void> note_markers();
  [[nodiscard]] bool has_contributor(const std::string& name) const;
  /// Records once that an agent other than the owner stages in it.
  Result<void> note_contributor(const std::string& name);
  /// Records the reason if the transaction began without one; ignores an empty reason.
  Result<void> note_reason(const std::string& reason);
  /// Drops it with everything in it.
  static Result<void> remove(const StateDirectory& state, StoredStage stage);

 private:
  explicit StoredStage(StageDirectory stage) : stage_(std::move(stage)) {}
  static Result<StoredStage> of(const StateDirectory& state, StageDirectory stage);

  Result<void> save_whole(const Overlay::Entries& entries);

  StageDirectory stage_;
  StageHeader about_;
  std::optional<AppendableEntries> saved_;  ///< the contents of `overlay`; nullopt when unknown
  std::shared_ptr<ContentStore> contents_;
};

/// The maximum size of a kept message.
inline constexpr size_t kMaxGitMessageBytes = size_t{64} << 10U;

/// Keeps the message; the last one counts.
[[nodiscard]] Result<void> write_git_message(const WritableDirectory& stage,
                                             const std::string& message);

/// Returns an empty text when there is none.
[[nodiscard]] Result<std::string> read_git_message(const Directory& stage);

inline constexpr uint64_t kMaxHostPathBytes = 4096;  ///< a host path in the state of a transaction

/// The stage's directory for layers. It is created when it does not exist or was deleted: then the
/// ignored outputs are gone, which is allowed.
[[nodiscard]] Result<std::string> ensure_scratch_home(const WritableDirectory& stage);

/// Removes it with all its contents.
[[nodiscard]] Result<void> drop_scratch_home(const Directory& stage);

/// The scratch homes of all stages, by stage id, so that they can be dropped with the stages.
[[nodiscard]] Result<std::map<std::string, std::string>> scratch_homes(const StateDirectory& state);

}  // namespace galley
