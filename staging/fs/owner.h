#pragma once

#include <cstdint>

namespace galley {

/// The user of the system that this process acts as (geteuid).
[[nodiscard]] uint32_t effective_user();

/// Whether what this user owns may be believed by this process: the effective user's own, root's,
/// and, for root, the user's who called sudo (SUDO_UID), as git's safe.directory has it.
[[nodiscard]] bool is_believed_owner(uint32_t uid);

}  // namespace galley
