#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace galley {

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
