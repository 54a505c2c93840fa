#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "staging/fs/directory.h"

namespace galley {

/// Galley's folder in the directory that a variable of the XDG base directory specification names,
/// or in the usual one below the home. Empty if the home is unknown.
[[nodiscard]] std::string own_folder(const char* variable, std::string_view usual);

enum class UserState : uint8_t { kExisting, kMake };

/// Opens the folder for state that must not be in a workspace: `$XDG_STATE_HOME/galley`, by default
/// `~/.local/state/galley`. Its mode is 0700.
/// Errors: kNotFound if it does not exist and `wanted` is kExisting, or if the home is unknown;
///         kIo.
Result<std::unique_ptr<WritableDirectory>> open_user_state(UserState wanted);

/// The path of the folder for data that can be computed again: `$XDG_CACHE_HOME/galley`, by default
/// `~/.cache/galley`. Empty if the home is unknown.
[[nodiscard]] std::string user_cache_path();

/// The effective user of this process (geteuid).
[[nodiscard]] uint32_t effective_user();

/// Whether `uid` is the effective user of this process or, for root, the user who called sudo
/// (SUDO_UID), as in git's safe.directory.
[[nodiscard]] bool is_own_user(uint32_t uid);

/// Whether this process trusts files of this user: root, or one for whom is_own_user() is true.
[[nodiscard]] bool is_trusted_owner(uint32_t uid);

/// Whether the process may change the owner of a file to another user.
[[nodiscard]] bool is_root_user();

/// Whether the process may give a file that belongs to `owner` to `uid` and `gid`. The kernel
/// decides: a nameless file is given to them.
[[nodiscard]] bool may_give_owner(uint32_t owner, uint32_t uid, uint32_t gid);

}  // namespace galley
