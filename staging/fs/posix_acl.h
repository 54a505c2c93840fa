#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace galley {

// POSIX ACLs as extended attributes have them: version 2, then entries of tag, rights and id, all
// little endian (linux/posix_acl_xattr.h).

/// The shifts in a mode from the bits of others to the bits of the group and of the owner.
inline constexpr uint32_t kGroupShift = 3;
inline constexpr uint32_t kOwnerShift = 6;

inline constexpr std::string_view kAccessAcl = "system.posix_acl_access";
inline constexpr std::string_view kDefaultAcl = "system.posix_acl_default";

/// The ACL and mode that a new object gets from the default ACL of its directory.
struct InheritedAcl {
  std::string access;  ///< the value of its access ACL; empty when the mode expresses all rights
  uint32_t mode = 0;   ///< & 0777
};

/// The result of open(2) or mkdir(2) with `mode` under a default ACL; the umask does not apply
/// then. Returns nullopt when the bytes are not an ACL.
[[nodiscard]] std::optional<InheritedAcl> inherit_acl(std::string_view default_acl, uint32_t mode);

/// The rights of the owning group in an ACL, which the group bits of the mode do not show. Returns
/// nullopt when the bytes are not an ACL.
[[nodiscard]] std::optional<uint32_t> owning_group_rights(std::string_view acl);

}  // namespace galley
