#pragma once

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
  /// Marks a caught object whose place was filled anew, where the system knows no exchange.
  static constexpr std::string_view kOldSuffix = ".old";

  /// Marks a caught object that could not be put back: never swept, always rescued.
  static constexpr std::string_view kKeepSuffix = ".keep";

  /// Marks an object that recovery is still writing: it never was in the workspace.
  static constexpr std::string_view kWritingSuffix = ".writing";

  static Result<Slots> create(const StateDirectory& state, TxId id);
  /// Opens what is there, for recovery; makes it when absent.
  static Result<Slots> open_or_create(const StateDirectory& state, TxId id);

  /// What else a new object has to be.
  struct WriteOptions {
    bool is_synced = false;                ///< a file is flushed, by the descriptor that wrote it
    bool has_set_group_id = false;         ///< a directory hands its group down, as its parent does
    std::optional<int64_t> mtime_ns = {};  ///< of a file, instead of now
  };
  /// Owner, group and permission bits that an object got.
  struct Given {
    uint32_t uid = 0;
    uint32_t gid = 0;
    uint32_t mode = 0;
    uint32_t special = 0;
  };
  /// Makes the object of one side: content, owner, attributes and mode. What could not be kept is
  /// told in `warnings`, and nobody gains by it: without its group or ACL the object has the rights
  /// that all of its group and all others had.
  Result<Given> write(const RelPath& name, const RelPath& path, const JournalSide& side,
                      const Content& content, const WriteOptions& options,
                      std::vector<std::string>& warnings) const;

  /// Makes the object of one side for recovery, synced, under a name of its own: under another
  /// until it is whole, so that a later run can tell it from a caught object.
  [[nodiscard]] Result<RelPath> write_whole(size_t op, const RelPath& path, const JournalSide& side,
                                            const Content& content,
                                            bool has_set_group_id = false) const;

  /// A name that no earlier, interrupted run used for this operation: what that one caught may be
  /// there still. `path` is what the operation is about, for the message.
  /// Errors: kQuota `limit.recovery`.
  [[nodiscard]] Result<RelPath> free_name(size_t op, const RelPath& path) const;

  /// What an operation caught, if it still is this side of it and no new inode could be: it belongs
  /// to somebody else. It has its mode.
  [[nodiscard]] Result<std::optional<RelPath>> caught(size_t op, const JournalSide& side) const;

  /// Puts a copy of a file, made and synced here, in its place; its directory is not synced.
  Result<void> replace_by_copy(const WritableDirectory& directory, const RelPath& name) const;

  [[nodiscard]] const WritableDirectory& directory() const { return *directory_; }
  /// Owner and group of what is made here.
  [[nodiscard]] const FileStat& ours() const { return ours_; }
  [[nodiscard]] static RelPath name(size_t op, std::string_view suffix = "");

 private:
  Slots(std::unique_ptr<WritableDirectory> directory, const FileStat& ours)
      : directory_(std::move(directory)), ours_(ours) {}
  Result<Given> write_file(const RelPath& name, const RelPath& path, const JournalSide& side,
                           const Content& content, const WriteOptions& options,
                           std::vector<std::string>& warnings) const;
  Result<bool> is_made_with(File& file, uint32_t mode) const;
  std::unique_ptr<WritableDirectory> directory_;
  FileStat ours_;
  mutable std::map<uint32_t, bool> made_with_;
};

/// As observe(), of something in the slots, also when its mode does not let its owner read it: then
/// the owner may for the moment of the look. Not for the workspace.
Result<Node> observe_slot(const Location& at);
/// The bytes of a file in the slots, up to kMaxImageBytes, in the same way.
Result<std::string> read_slot(const Location& at);

/// Looks at everything in the slots of one transaction and moves aside what is not one of its own
/// images; the rest is removed, and the slot directory with it.
///
/// `may_be_torn`: power was lost since the slots were written, so a prefix of an image is ours too.
Result<void> sweep_slots(const StateDirectory& state, const Journal& journal, bool may_be_torn,
                         std::vector<JournalNote>& notes);

/// Moves an object out of the way to `rescue/<tx>/<path>`; the place is added to `notes`.
Result<void> rescue(const StateDirectory& state, TxId id, const WritableDirectory& from,
                    const RelPath& name, const RelPath& path, std::vector<JournalNote>& notes);

/// Whether these bytes are what a power cut can leave of one of the journal's images: a prefix
/// once trailing zeros are cut, or nothing.
[[nodiscard]] bool is_torn_image(const std::string& bytes, const Journal& journal,
                                 const JournalOp& op);

}  // namespace galley
