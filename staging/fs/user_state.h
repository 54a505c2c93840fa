#pragma once

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

}  // namespace galley
