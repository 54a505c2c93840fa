#pragma once

#include <cstdint>

namespace galley {

/// The user of the system that this process acts as (geteuid).
[[nodiscard]] uint32_t effective_user();

/// Whether this user is the one that the process works for: the effective user, or, for root, the
/// user who called sudo (SUDO_UID), as git's safe.directory has it.
[[nodiscard]] bool is_own_user(uint32_t uid);

/// Whether what this user owns may be believed by this process: the user's own, or root's.
[[nodiscard]] bool is_believed_owner(uint32_t uid);

/// Whether the process may give files to others.
[[nodiscard]] bool is_root_user();

}  // namespace galley
