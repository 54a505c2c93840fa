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

// The message of the commit of git that a tool of a stored transaction asked for: the file
// `git-commit` of its stage.

// The git-ignored outputs of a stored transaction's commands. They are layers under the next
// command, and overlayfs refuses a lower layer that lies in another one, which the workspace is: so
// they lie below $TMPDIR, in a private directory whose path is the file `scratch-home` of the
// stage.

namespace galley {

/// Who began a stored transaction, and why.
struct StageAbout {
  std::string agent;
  std::string message;
  int64_t begun_ns = 0;
  bool has_markers = false;                    ///< conflict markers were put into what is staged
  std::vector<std::string> contributors = {};  ///< others that staged something in it
  uint32_t uid = 0;                            ///< the user of the system whose it is
};

/// Whether `agent`, as this user of the system, is who began it.
[[nodiscard]] bool is_own(const StageAbout& about, const std::string& agent);

/// What a transaction that outlives its process keeps in its stage.
///
///     about       "galley stage 1", when it began, agent, reason
///     overlay     what is staged (staging/overlay/overlay_file.h); grows at its end, and is
///                 replaced whole by rename when that is longer than the rest; the one before it
///                 is overlay.new
///     calls       what each call changed (staging/overlay/staged_step.h); grows at its end
///     markers     there when conflict markers were put into what is staged
///     contributors  names of others that staged something, one a line
///     pool        of a fork: whose contents it shares (engine/commit/stage_directory.h)
///
/// `about` is written last: without it there is no transaction, and gc clears the rest.
/// Nothing here is synced: a power cut may lose what was staged, never a committed byte.
///
/// Ownership: owns the stage and so its lock, which dies with the process.
/// Threads:   confined to one thread.
/// Errors:    StageDirectory's, and kInvalid `stage.damaged`.
class StoredStage {
 public:
  /// Makes a new one and holds it.
  static Result<StoredStage> create(const StateDirectory& state, const StageAbout& about);
  /// Makes another one that has the same staged, as it was last saved. What the calls changed is
  /// copied and nothing else, so the number of files does not matter.
  Result<StoredStage> fork(const StateDirectory& state, const StageAbout& about) const;
  /// Takes an existing one; waits at most `timeout` for another process to let go.
  static Result<StoredStage> open(const StateDirectory& state, const std::string& id,
                                  std::chrono::milliseconds timeout);

  /// Who began it and why, whoever has it open now.
  static Result<StageAbout> look_at(const StateDirectory& state, const std::string& id);

  [[nodiscard]] const std::string& id() const { return stage_.id(); }
  [[nodiscard]] const StageAbout& about() const { return about_; }
  [[nodiscard]] const WritableDirectory& directory() const { return stage_.directory(); }
  [[nodiscard]] const std::shared_ptr<ContentStore>& contents() const { return contents_; }

  /// What was staged when it was last saved; nothing for a new one.
  Result<Overlay::Entries> load();
  /// Writes what differs from what was loaded or saved before.
  Result<void> save(const Overlay::Entries& entries);
  /// What each call changed so far; nothing where no call was kept.
  Result<std::vector<StagedStep>> load_steps() const;
  /// Adds what more calls changed; the oldest go beyond twice kMaxStepPaths. A damaged file stays
  /// as it is, and load_steps() says so.
  Result<void> add_steps(const std::vector<StagedStep>& steps) const;
  /// Remembers that conflict markers are staged.
  Result<void> note_markers();
  [[nodiscard]] bool has_contributor(const std::string& name) const;
  /// Remembers that somebody else than its owner stages in it; once.
  Result<void> note_contributor(const std::string& name);
  /// Why, where it was begun without a reason; else, and for an empty one, nothing.
  Result<void> note_reason(const std::string& reason);
  /// Drops it with everything in it.
  static Result<void> remove(const StateDirectory& state, StoredStage stage);

 private:
  explicit StoredStage(StageDirectory stage) : stage_(std::move(stage)) {}
  static Result<StoredStage> of(const StateDirectory& state, StageDirectory stage);

  Result<void> save_whole(const Overlay::Entries& entries);

  StageDirectory stage_;
  StageAbout about_;
  std::optional<GrowingEntries> saved_;  ///< what `overlay` has; nothing where that is not known
  std::shared_ptr<ContentStore> contents_;
};

/// The longest message that is kept.
inline constexpr size_t kMaxGitMessageBytes = size_t{64} << 10U;

/// Keeps it; the last one counts.
[[nodiscard]] Result<void> keep_git_message(const WritableDirectory& stage,
                                            const std::string& message);

/// Empty when none was asked for.
[[nodiscard]] Result<std::string> kept_git_message(const Directory& stage);

inline constexpr uint64_t kMaxHostPathBytes = 4096;  ///< of a file that holds a path of the host

/// The stage's directory for layers, made when it has none or when it was swept away: then the
/// ignored outputs are gone, as they may.
[[nodiscard]] Result<std::string> need_scratch_home(const WritableDirectory& stage);

/// Removes it with all that lies in it.
[[nodiscard]] Result<void> drop_scratch_home(const Directory& stage);

/// Where those of all stages are, by stage id: to be dropped when the stages are.
[[nodiscard]] Result<std::map<std::string, std::string>> scratch_homes(const StateDirectory& state);

}  // namespace galley
