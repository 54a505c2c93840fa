#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/commit/plan.h"
#include "engine/commit/state_directory.h"
#include "engine/commit/workspace_view.h"

namespace galley {

/// `slot/<tx>`: the new inodes of one transaction before the swap, the caught old ones after it.
///
/// Ownership: owns its descriptor. Threads: confined to one thread.
class Slots {
 public:
  /// Marks a caught object that could not be put back: never swept, always rescued.
  static constexpr std::string_view kKeepSuffix = ".keep";

  /// Marks an object that recovery is still writing: it never was in the workspace.
  static constexpr std::string_view kWritingSuffix = ".writing";

  static Result<Slots> create(const StateDirectory& state, TxId id);
  /// Opens what is there, for recovery; makes it when absent.
  static Result<Slots> open_or_create(const StateDirectory& state, TxId id);

  /// Makes the object of one side: content, owner, attributes and mode; nothing is synced.
  /// What could not be kept is told in `warnings`.
  Result<void> write(const RelPath& name, const RelPath& path, const JournalSide& side,
                     const Content& content, std::vector<std::string>& warnings) const;

  /// A name that no earlier, interrupted run used for this operation: what that one caught may be
  /// there still. `path` is what the operation is about, for the message.
  /// Errors: kQuota `limit.recovery`.
  [[nodiscard]] Result<RelPath> free_name(size_t op, const RelPath& path) const;

  /// Puts a copy of a file, made and synced here, in its place; its directory is not synced.
  Result<void> replace_by_copy(const Directory& directory, const RelPath& name) const;

  [[nodiscard]] const Directory& directory() const { return *directory_; }
  /// Owner and group of what is made here.
  [[nodiscard]] const FileStat& ours() const { return ours_; }
  [[nodiscard]] static RelPath name(size_t op, std::string_view suffix = "");

 private:
  Slots(std::unique_ptr<Directory> directory, const FileStat& ours)
      : directory_(std::move(directory)), ours_(ours) {}
  Result<void> write_file(const RelPath& name, const RelPath& path, const JournalSide& side,
                          const Content& content, std::vector<std::string>& warnings) const;
  std::unique_ptr<Directory> directory_;
  FileStat ours_;
};

/// Decides what a new inode carries: the owner, attributes and ACL of what it replaces or was
/// renamed from, else what its parent directory hands down.
class Inheritance {
 public:
  Inheritance(const Plan& plan, const Directory& workspace, const FileStat& ours);
  /// Fills the `after` side of one operation.
  Result<void> fill(JournalOp& op);

 private:
  /// What a directory hands down to new entries.
  struct Hereditary {
    std::optional<uint32_t> gid;  ///< of a set-group-id directory
    std::vector<ExtendedAttribute> acl;
  };
  Result<const Hereditary*> of_parent(const RelPath& path);

  const Plan* plan_;
  const Directory* workspace_;
  uint32_t uid_;
  uint32_t gid_;
  std::map<RelPath, size_t> index_;
  std::map<RelPath, Hereditary> parents_;
};

/// Looks at everything in the slots of one transaction and moves aside what is not one of its own
/// images; the rest is removed, and the slot directory with it.
///
/// `may_be_torn`: power was lost since the slots were written, so a prefix of an image is ours too.
Result<void> sweep_slots(const StateDirectory& state, const Journal& journal, bool may_be_torn,
                         std::vector<JournalNote>& notes);

/// Moves an object out of the way to `rescue/<tx>/<path>`; the place is added to `notes`.
Result<void> rescue(const StateDirectory& state, TxId id, const Directory& from,
                    const RelPath& name, const RelPath& path, std::vector<JournalNote>& notes);

/// Whether these bytes are what a power cut can leave of one of the journal's images: a prefix
/// once trailing zeros are cut, or nothing.
[[nodiscard]] bool is_torn_image(const std::string& bytes, const Journal& journal,
                                 const JournalOp& op);

}  // namespace galley
