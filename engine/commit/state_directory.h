#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <galley/path.h>
#include "engine/commit/journal.h"
#include "staging/fs/directory.h"

namespace galley {

/// The `.galley` directory at the root of a workspace: journals, history, slots and stages.
///
///     format               the identity of this state (state_format.h)
///     lock, wait/          the writer lock and its queue (writer_lock.h)
///     j/<tx>.j             journals committed and not yet retired
///     undo/<tx>.j          retired journals: the history
///     slot/<tx>/<n>        new inodes before the swap, the caught old ones after it
///     blob/<uuid>/         contents over kMaxImageBytes (blob_store.h)
///     stage/<sid>/         overlays that outlive their process (stage_directory.h)
///     contents/<sid>/      staged contents, shared by a stage and its forks (stage_directory.h)
///     rescue/, quarantine/ foreign bytes moved aside, unusable journals
///
/// It is believed only if this user made it here, for this user alone: it is a real directory on
/// the mount of the workspace, owned by the user, inaccessible to others, and named by its
/// `format`. Any other object of that name is a copy, or came with the files. Nothing in it is read
/// or written.
///
/// Invariant: an object of this class is believed, or was opened to ask a person about it
///            (open_foreign).
/// Ownership: owns the descriptors it opened; borrows nothing.
/// Threads:   safe to share; the writer lock orders writers.
/// Errors:    kRefused `state.not_believed`; kIo.
class StateDirectory {
 public:
  static constexpr std::string_view kName = ".galley";

  /// Returns nullopt if a complete state directory does not exist (nothing was ever committed).
  static Result<std::optional<StateDirectory>> open(const WritableDirectory& workspace);
  /// Opens it, and creates missing parts durably.
  static Result<StateDirectory> open_or_create(const WritableDirectory& workspace);
  /// Opens a state that is not believed, so that a person can decide about it. Writes nothing.
  /// Errors: kRefused `state.not_adoptable`, which says what must be fixed by hand first;
  ///         kNotFound `state.nothing_to_adopt`.
  static Result<StateDirectory> open_foreign(const WritableDirectory& workspace);
  /// Makes it believed from now on, by writing a `format` that names its folder.
  Result<void> adopt(const WritableDirectory& workspace);

  [[nodiscard]] const WorkspaceId& workspace_id() const { return workspace_id_; }
  /// Returns a text for this boot and this mount; empty if `boot` is empty. Unsynced data survives
  /// only within both.
  [[nodiscard]] std::string session(const std::string& boot) const;
  /// `.galley` itself.
  [[nodiscard]] const WritableDirectory& root() const { return *root_; }
  /// The path of private state below `.galley`: `own("stage/x")` is `stage/<workspace id>/x`. A
  /// pull or an archive cannot put a file there, because its author does not know the id.
  [[nodiscard]] RelPath own(std::string_view place) const;
  [[nodiscard]] const WritableDirectory& journals() const { return *journals_; }
  [[nodiscard]] const WritableDirectory& undo() const { return *undo_; }
  [[nodiscard]] const WritableDirectory& slots() const { return *slots_; }

 private:
  StateDirectory() = default;
  enum class MissingPart : uint8_t { kMake, kRefuse };
  static Result<StateDirectory> open_parts(std::unique_ptr<WritableDirectory> root,
                                           const WorkspaceId& id, MissingPart missing);

  WorkspaceId workspace_id_{};
  uint64_t mount_ = 0;
  std::unique_ptr<WritableDirectory> root_;
  std::unique_ptr<WritableDirectory> journals_;
  std::unique_ptr<WritableDirectory> undo_;
  std::unique_ptr<WritableDirectory> slots_;
};

/// `<tx>.j`.
[[nodiscard]] RelPath journal_name(TxId id);
/// Ids of the journals in a directory (`j/` or `undo/`), ascending; skips other names.
Result<std::vector<TxId>> journal_ids(const Directory& directory);
/// Reads and judges `<tx>.j`. A journal of another transaction or workspace counts as damaged.
Result<JournalVerdict> read_journal(const StateDirectory& state, const Directory& directory,
                                    TxId id, ImageUse use = ImageUse::kKeep);

/// The id of this boot of the machine, or GALLEY_BOOT_ID when set (tests). Empty when the system
/// does not provide one; an empty id never equals a boot.
[[nodiscard]] std::string current_boot_id();

/// Whether data of the noted session is still in the page cache now. A mount in another mount
/// namespace, for example a container's, counts as the same session, because it may be of the same
/// file system. So does a note by an older Galley, which recorded only the boot.
[[nodiscard]] bool is_same_session(std::string_view noted, std::string_view now);

}  // namespace galley
