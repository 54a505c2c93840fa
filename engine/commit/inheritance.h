#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "engine/commit/journal.h"
#include "engine/commit/plan.h"
#include "staging/fs/directory.h"

namespace galley {

/// Decides what a new inode carries: the owner, attributes and ACL of what it replaces, was renamed
/// from, or brings back; else what its directory hands down, as open(2) and mkdir(2) have it.
///
/// Ownership: borrows the plan and the workspace. Threads: confined to one thread.
class Inheritance {
 public:
  /// `ours` has the owner and group of what is made in the slots.
  Inheritance(const Plan& plan, const Directory& workspace, const FileStat& ours);
  /// The transaction that this one takes back: what that one removed comes back as it was.
  void bring_back(Journal undone);
  /// Fills the `after` side of one operation; of a new object also the mode, where a default ACL
  /// decides it and nobody asked for another one than the umask's.
  Result<void> fill(JournalOp& op);
  /// The special bits of what a new object takes after.
  [[nodiscard]] uint32_t special_of(const JournalOp& op) const;
  /// Whether a directory made at `path` gets the set-group-id bit.
  Result<bool> has_set_group_id(const RelPath& path);

 private:
  /// What a directory hands down to new entries.
  struct Hereditary {
    std::optional<uint32_t> gid;  ///< of a set-group-id directory
    std::optional<std::string> default_acl;
  };
  Result<const Hereditary*> of_parent(const RelPath& path);
  Result<void> inherit(JournalOp& op);
  [[nodiscard]] const JournalSide* source_of(const JournalOp& op) const;
  [[nodiscard]] const JournalOp* undone(const JournalOp& op) const;

  const Plan* plan_;
  const Directory* workspace_;
  uint32_t uid_;
  uint32_t gid_;
  std::map<RelPath, size_t> index_;
  std::map<RelPath, Hereditary> parents_;
  Journal undone_;
};

// POSIX ACLs as extended attributes have them: version 2, then entries of tag, rights and id, all
// little endian (linux/posix_acl_xattr.h).

/// Bits by which the rights of the group lie above those of the others, in a mode.
inline constexpr uint32_t kGroupShift = 3;

inline constexpr std::string_view kAccessAcl = "system.posix_acl_access";
inline constexpr std::string_view kDefaultAcl = "system.posix_acl_default";

/// What a new object gets from the default ACL of its directory.
struct InheritedAcl {
  std::string access;  ///< the value of its access ACL; empty when its mode says everything
  uint32_t mode = 0;   ///< & 0777
};

/// What open(2) or mkdir(2) with `mode` makes of a default ACL; the umask has no say then. Nothing
/// when the bytes are no ACL.
[[nodiscard]] std::optional<InheritedAcl> inherit_acl(std::string_view default_acl, uint32_t mode);

/// The rights of the owning group in an ACL, which the group bits of the mode do not show. Nothing
/// when the bytes are no ACL.
[[nodiscard]] std::optional<uint32_t> owning_group_rights(std::string_view acl);

}  // namespace galley
