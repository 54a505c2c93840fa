#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/commit/journal.h"
#include "engine/commit/plan.h"
#include "staging/fs/directory.h"

namespace galley {

/// The new directories that renamed files show to be old ones, with their old paths. The root
/// stands for several old paths. `ops` is sorted.
[[nodiscard]] std::map<RelPath, RelPath> moved_directories(const std::vector<JournalOp>& ops);

/// The warning that a file got a new inode, and that its other hard links keep `what`.
[[nodiscard]] std::string broken_links(const RelPath& path, std::string_view what);

/// Decides the owner, attributes and ACL of a new inode. It takes them from the object that the
/// inode replaces, was renamed from, or restores. Else its directory passes them on, as in open(2)
/// and mkdir(2). A staged owner goes first.
///
/// Ownership: borrows the plan and the workspace. Threads: confined to one thread.
class Inheritance {
 public:
  /// `ours` has the owner and group of objects that are made in the slots.
  Inheritance(const Plan& plan, const Directory& workspace, const FileStat& ours);
  /// Adds a transaction that this one undoes, the newest first: objects that it removed come back
  /// with their metadata.
  void restore_metadata(const Journal& undone);
  /// Fills the `after` side of one operation. For a new object it also sets the mode, when a
  /// default ACL decides the mode and the proposal has the mode that the umask gives.
  Result<void> fill(JournalOp& op);
  /// The special bits that a new object keeps from its predecessor.
  [[nodiscard]] uint32_t special_bits_of(const JournalOp& op) const;
  /// Whether a directory made at `path` gets the set-group-id bit.
  Result<bool> has_set_group_id(const RelPath& path);

 private:
  /// The properties that a directory passes on to new entries.
  struct InheritedProperties {
    std::optional<uint32_t> gid;  ///< of a set-group-id directory
    std::optional<std::string> default_acl;
  };
  Result<const InheritedProperties*> of_parent(const RelPath& path);
  Result<void> take_over(JournalOp& op);
  Result<void> inherit(JournalOp& op);
  [[nodiscard]] const JournalSide* source_of(const JournalOp& op) const;
  [[nodiscard]] const JournalOp* undone(const JournalOp& op) const;

  const Plan* plan_;
  const Directory* workspace_;
  uint32_t uid_;
  uint32_t gid_;
  std::map<RelPath, size_t> index_;
  std::map<RelPath, InheritedProperties> parents_;
  std::map<RelPath, JournalOp> undone_;
  std::map<RelPath, RelPath> moved_;
};

/// As write(2) does: new content does not inherit file capabilities of the old content.
void drop_capabilities(JournalSide& side);

}  // namespace galley
