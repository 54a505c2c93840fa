#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/commit/journal.h"
#include "engine/commit/state_directory.h"
#include "engine/commit/workspace_view.h"

namespace galley {

/// `slot/<tx>`: the new inodes of one transaction before the swap, the caught old ones after it.
///
/// Ownership: owns its descriptor. Threads: confined to one thread.
class Slots {
 public:
  /// Marks a caught object whose place was filled again, on systems without an atomic exchange.
  static constexpr std::string_view kOldSuffix = ".old";

  /// Marks a caught object that could not be put back: never swept, always rescued.
  static constexpr std::string_view kKeepSuffix = ".keep";

  /// Marks an object that recovery is still writing: it was never in the workspace.
  static constexpr std::string_view kWritingSuffix = ".writing";

  static Result<Slots> create(const StateDirectory& state, TxId id);
  /// Makes objects in a folder that only the caller uses, for another writer of the workspace.
  static Result<Slots> in_folder(std::unique_ptr<WritableDirectory> folder);
  /// Opens the existing slots, for recovery; creates them when absent.
  static Result<Slots> open_or_create(const StateDirectory& state, TxId id);

  /// Further properties of a new object.
  struct WriteOptions {
    bool is_synced = false;                ///< a file is flushed, by the descriptor that wrote it
    bool has_set_group_id = false;         ///< set on a directory that passes its group on, as its
                                           ///< parent does
    std::optional<int64_t> mtime_ns = {};  ///< of a file, instead of now
    /// Writes the content of a file that is too large for memory; else `content` is written.
    std::function<Result<void>(WritableFile&)> fill = {};
  };
  /// Owner, group and permission bits that an object got.
  struct ObjectMetadata {
    uint32_t uid = 0;
    uint32_t gid = 0;
    uint32_t mode = 0;
    uint32_t special = 0;
  };
  /// Makes the object of one side: content, owner, attributes and mode. Adds a warning for each
  /// property that could not be kept. No user gains rights by such a loss: without its group or
  /// ACL, the object gets only the rights that both its whole group and all others had.
  Result<ObjectMetadata> write(const RelPath& name, const RelPath& path, const JournalSide& side,
                               const Content& content, const WriteOptions& options,
                               std::vector<std::string>& warnings) const;

  /// Makes the object of one side for recovery, synced, under an unused name. Until it is complete
  /// it has another name, so that a later run can tell it from a caught object.
  /// Errors: kRefused `owner.not_permitted`: it could not get the owner that its node has.
  [[nodiscard]] Result<RelPath> write_complete(size_t op, const RelPath& path,
                                               const JournalSide& side, const Content& content,
                                               WriteOptions how) const;

  /// Returns a name that no interrupted earlier run used for this operation. A caught object may
  /// still have such an earlier name. `path` is the operation's path, for the message.
  /// Errors: kQuota `limit.recovery`.
  [[nodiscard]] Result<RelPath> free_name(size_t op, const RelPath& path) const;

  /// Returns the object that an operation caught, if it still equals this side, mode included, and
  /// another user or group owns it. A new inode could not replace such an object.
  [[nodiscard]] Result<std::optional<RelPath>> caught(size_t op, const JournalSide& side) const;

  /// Replaces a file by a copy that is made and synced here; does not sync its directory.
  Result<void> replace_by_copy(const WritableDirectory& directory, const RelPath& name) const;

  [[nodiscard]] const WritableDirectory& directory() const { return *directory_; }
  /// Owner and group of objects that are made here.
  [[nodiscard]] const FileStat& ours() const { return ours_; }
  [[nodiscard]] static RelPath name(size_t op, std::string_view suffix = "");

 private:
  Slots(std::unique_ptr<WritableDirectory> directory, const FileStat& ours)
      : directory_(std::move(directory)), ours_(ours) {}
  Result<ObjectMetadata> write_file(const RelPath& name, const RelPath& path,
                                    const JournalSide& side, const Content& content,
                                    const WriteOptions& options,
                                    std::vector<std::string>& warnings) const;
  Result<bool> is_made_with(File& file, uint32_t mode) const;
  std::unique_ptr<WritableDirectory> directory_;
  FileStat ours_;
  mutable std::map<uint32_t, bool> made_with_;
};

/// The error for a path to which recovery may not give its owner.
[[nodiscard]] Error owner_not_recovered(const RelPath& path, const Node::Owner& owner,
                                        int os_error);

/// Does the same as observe() for an object in the slots. If the mode forbids its owner to read it,
/// the mode is changed during the read. Do not use it in the workspace.
Result<Node> observe_slot(const Location& at);
/// Reads a file in the slots in the same way, up to kMaxImageBytes.
Result<std::string> read_slot(const Location& at);

/// Removes the slots of one transaction. Objects that are not one of its own images are moved to
/// rescue/ first.
///
/// `may_be_torn`: power was lost since the slots were written, so a prefix of an image also counts
/// as an image.
Result<void> sweep_slots(const StateDirectory& state, const Journal& journal, bool may_be_torn,
                         std::vector<JournalNote>& notes);

/// Whether a file gets a new inode only for its owner. It keeps the time of its last write.
[[nodiscard]] bool gets_only_owner(const JournalOp& op);

/// Moves an object that is in the way to `rescue/<tx>/<path>`, and adds a note with that place.
Result<void> rescue(const StateDirectory& state, TxId id, const WritableDirectory& from,
                    const RelPath& name, const RelPath& path, std::vector<JournalNote>& notes);

/// Whether a power cut can leave these bytes of one of the journal's images: a prefix of it after
/// trailing zeros are cut, or nothing.
[[nodiscard]] bool is_torn_image(const std::string& bytes, const Journal& journal,
                                 const JournalOp& op);

}  // namespace galley
