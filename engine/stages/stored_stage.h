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

// The file `git-commit` of a stage has the message of the git commit that a tool requested.

// The file `scratch-home` of a stage has the path of a private directory below $TMPDIR. This
// directory contains the git-ignored outputs of the transaction's commands, as lower layers of the
// next command. They cannot be in the workspace, because overlayfs refuses a lower layer that is
// inside another one.

namespace galley {

/// The author and reason of a stored transaction.
struct StageHeader {
  std::string agent;
  std::string message;
  int64_t begun_ns = 0;
  bool has_markers = false;                    ///< the staged state has conflict markers
  std::vector<std::string> contributors = {};  ///< other agents that staged changes in it
  uint32_t uid = 0;                            ///< the system user that owns it
  std::string session = {};                    ///< of the agent that began it; may be empty
};

/// Whether `agent` began the transaction as the system user of this process.
[[nodiscard]] bool is_own(const StageHeader& about, const std::string& agent);

/// The files of a stored transaction, in its stage.
///
///     about       "galley stage 1", its start time and, if known, its session, agent, reason
///     overlay     the staged state (staging/overlay/overlay_file.h). A save appends changes. If
///                 the appended part is longer than the rest, a new file replaces this one.
///     overlay.new the replaced file, for reuse
///     calls       the changes of each call (staging/overlay/staged_step.h), in appended parts
///     markers     exists if conflict markers were staged
///     undo        the transactions whose undo it resolves, and how the undo is recorded
///     comments    what a person wrote about it in `galley review`
///     commit      the number and the proposal of its commit, noted just before it. If the history
///                 has that commit, the transaction does not exist.
///     contributors  names of other agents that staged changes, one per line
///     pool        in a fork: the shared contents (engine/commit/stage_directory.h)
///
/// `about` is written last and removed first. Without it the transaction does not exist, and gc
/// removes the other files. These files are not synced: a power failure may lose staged changes,
/// but not commits.
///
/// Ownership: owns the stage and its lock. The kernel releases the lock when the process ends.
/// Threads:   confined to one thread.
/// Errors:    those of StageDirectory; kInvalid `stage.damaged`.
class StoredStage {
 public:
  /// Creates a new stage and holds its lock.
  static Result<StoredStage> create(const StateDirectory& state, const StageHeader& about);
  /// Creates another stage with the last saved state of this one. It copies only the changes of the
  /// calls, so the cost does not depend on the number of files.
  Result<StoredStage> fork(const StateDirectory& state, const StageHeader& about) const;
  /// Opens an existing stage. Waits at most `timeout` until another process releases it.
  static Result<StoredStage> open(const StateDirectory& state, const std::string& id,
                                  std::chrono::milliseconds timeout);

  /// Returns the author and reason of a stage, even while another process holds it.
  static Result<StageHeader> look_at(const StateDirectory& state, const std::string& id);

  [[nodiscard]] const std::string& id() const { return stage_.id(); }
  [[nodiscard]] const StageHeader& about() const { return about_; }
  [[nodiscard]] const WritableDirectory& directory() const { return stage_.directory(); }
  [[nodiscard]] const std::shared_ptr<ContentStore>& contents() const { return contents_; }

  /// Returns the last saved state; empty for a new stage.
  Result<Overlay::Entries> load();
  /// Saves the staged state. Writes only the difference from the entries last loaded or saved.
  Result<void> save(const Overlay::Entries& entries);
  /// Returns the changes of each recorded call.
  Result<std::vector<StagedStep>> load_steps() const;
  /// Adds the changes of further calls. Drops the oldest changes beyond twice kMaxStepPaths. Does
  /// not change a damaged file, which load_steps() reports.
  Result<void> add_steps(const std::vector<StagedStep>& steps) const;
  /// Records that the proposal is about to be committed under this number. A process that is killed
  /// after the commit leaves the stage.
  Result<void> note_commit(TxId number, const ContentId& proposal) const;
  /// Records that conflict markers are staged.
  Result<void> note_markers();
  [[nodiscard]] bool has_contributor(const std::string& name) const;
  /// Records, once, that an agent other than the owner stages changes in it.
  Result<void> note_contributor(const std::string& name);
  /// Records the reason if the transaction does not have one. Ignores an empty reason.
  Result<void> note_reason(const std::string& reason);
  /// Records the session if the transaction does not have one. Ignores an empty session.
  Result<void> note_session(const std::string& session);
  /// Removes a stage with all its contents.
  static Result<void> remove(const StateDirectory& state, StoredStage stage);

 private:
  explicit StoredStage(StageDirectory stage) : stage_(std::move(stage)) {}
  static Result<StoredStage> of(const StateDirectory& state, StageDirectory stage);

  Result<void> replace_header(StageHeader about);
  Result<void> save_whole(const Overlay::Entries& entries);

  StageDirectory stage_;
  StageHeader about_;
  std::optional<AppendableEntries> saved_;  ///< the contents of `overlay`; nullopt: unknown
  std::shared_ptr<ContentStore> contents_;
};

/// The maximum size of a kept message.
inline constexpr size_t kMaxGitMessageBytes = size_t{64} << 10U;

/// Stores the message. It replaces an earlier message.
[[nodiscard]] Result<void> write_git_message(const WritableDirectory& stage,
                                             const std::string& message);

/// Returns the message, or an empty text without one.
[[nodiscard]] Result<std::string> read_git_message(const Directory& stage);

/// The undo whose conflicts a stored transaction resolves: its commit is recorded as this undo.
struct ResolvedUndo {
  std::string tool;  ///< for CommitMeta::tool
  TxId undoes;
  std::vector<TxId> also_undoes = {};
};

/// Stores the undo.
[[nodiscard]] Result<void> write_resolved_undo(const WritableDirectory& stage,
                                               const ResolvedUndo& undo);

/// Returns the undo, or nullopt without one.
/// Errors: kInvalid `stage.damaged` for a text that write_resolved_undo() does not write.
[[nodiscard]] Result<std::optional<ResolvedUndo>> read_resolved_undo(const Directory& stage);

/// What a person wrote in `galley review` about a place of a transaction.
struct ReviewComment {
  std::string on;  ///< a path, with a line if it is about one
  std::string text;
  bool operator==(const ReviewComment&) const = default;
};

/// The maximum size of the file `comments` of a stage, which has them as JSON.
inline constexpr size_t kMaxCommentsBytes = size_t{1} << 20U;

/// Stores the comments in place of earlier ones.
[[nodiscard]] Result<void> write_comments(const WritableDirectory& stage,
                                          const std::vector<ReviewComment>& comments);

/// Returns the comments of the last review.
/// Errors: kInvalid `stage.damaged` for a text that write_comments() does not write.
[[nodiscard]] Result<std::vector<ReviewComment>> read_comments(const Directory& stage);

inline constexpr uint64_t kMaxHostPathBytes = 4096;  ///< a host path in the state of a transaction

/// Returns the stage's private directory for layers. Creates it if it does not exist. If another
/// program deleted it, the ignored outputs are lost, which is allowed.
[[nodiscard]] Result<std::string> ensure_scratch_home(const WritableDirectory& stage);

/// Removes that directory with all its contents.
[[nodiscard]] Result<void> drop_scratch_home(const Directory& stage);

/// Returns the scratch homes of all stages, by stage id, so that they can be removed with the
/// stages.
[[nodiscard]] Result<std::map<std::string, std::string>> scratch_homes(const StateDirectory& state);

}  // namespace galley
