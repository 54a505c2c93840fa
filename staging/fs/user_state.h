#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "staging/fs/directory.h"

namespace galley {

enum class UserState : uint8_t { kExisting, kMake };

/// Where Galley remembers what no workspace may know or bring: `$XDG_STATE_HOME/galley`, by default
/// `~/.local/state/galley`, mode 0700.
/// Errors: kNotFound when it is not there and is not to be made, or no home is known; kIo.
Result<std::unique_ptr<WritableDirectory>> open_user_state(UserState wanted);

/// Where Galley keeps what can be made again: `$XDG_CACHE_HOME/galley`, by default
/// `~/.cache/galley`; empty when no home is known.
[[nodiscard]] std::string user_cache_path();

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
